from __future__ import annotations

from pathlib import Path

from tests.agents import homes
from tests.agents.cases import Cases
from tests.support.scripted_model import Turn


class TestHermes(Cases):
    name = "hermes"
    success = ""
    reports_tokens = False  # they are in its database: see test_loop.py
    takes_any_prompt = False  # more than argv holds is left in a file

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.hermes(home, url)

    def test_without_a_provider_it_is_not_logged_in(self) -> None:
        with self.cli() as (cli, _):
            for path in cli.home.iterdir():
                path.unlink()
            ran = cli.run()
        assert (ran.ended.exit_code, ran.said.reported) == (1, "auth")

    def test_a_message_about_quotas_is_no_quota(self) -> None:
        talk = Turn(
            "Done: HTTP 429 is now answered.\nAPI call failed after 3 retries: HTTP 429 is what users saw."
        )
        with self.cli(talk) as (cli, _):
            assert cli.run().said.reported == ""
