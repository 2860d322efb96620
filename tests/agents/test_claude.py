from __future__ import annotations

from pathlib import Path

from tests.agents import homes
from tests.agents.cases import Cases


class TestClaude(Cases):
    name = "claude"
    reports_cost = True  # made up, where it does not know the model

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.claude(home, url)

    def test_a_used_up_quota_is_found(self) -> None:
        with self.cli(status=429) as (cli, _):
            assert cli.run().said.reported == "quota"

    def test_without_a_key_it_is_not_logged_in(self) -> None:
        with self.cli() as (cli, _):
            (cli.home / "settings.json").unlink()
            cli.variables = {}
            assert cli.run().said.reported == "auth"

    def test_a_prompt_that_is_a_command_to_it_is_no_success(self) -> None:
        """`/help` is answered without the model and with exit code 0; our prompts begin with a word."""
        with self.cli() as (cli, model):
            ran = cli.run("/help")
        assert (ran.ended.exit_code, model.requests) == (0, [])
        assert ran.said.reported != "success"
