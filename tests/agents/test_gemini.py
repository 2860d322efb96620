from __future__ import annotations

from pathlib import Path

from tests.agents import homes
from tests.agents.cases import Cases
from tests.support.scripted_model import Turn


class TestGemini(Cases):
    name = "gemini"
    model = "gemini-2.5-pro"
    gives_up = False  # it tries for more than a minute

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.gemini(home, url, maxSessionTurns=3)

    def test_a_loop_that_it_ends_itself_is_no_success(self) -> None:
        with self.cli(Turn("Again.", "echo again")) as (cli, _):
            homes.gemini(cli.home, cli.variables["GOOGLE_GEMINI_BASE_URL"], maxSessionTurns=60)
            ran = cli.run()
        assert ran.ended.exit_code == 0
        assert ran.said.reported == "turn_limit"
