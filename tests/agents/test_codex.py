from __future__ import annotations

from pathlib import Path

from tests.agents import homes
from tests.agents.cases import Cases
from tests.support.scripted_model import Turn


class TestCodex(Cases):
    name = "codex"
    has_turn_limit = False

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.codex(home, url)

    def test_a_used_up_quota_is_found(self) -> None:
        with self.cli(status=429) as (cli, _):
            assert cli.run().said.reported == "quota"

    def test_what_a_tool_prints_about_quotas_is_no_quota(self) -> None:
        shown = 'echo "You\'ve hit your usage limit. unexpected status 401"'
        with self.cli(Turn("Looking.", shown), *self.end) as (cli, _):
            assert cli.run().said.reported == "success"
