from __future__ import annotations

from pathlib import Path

from tests.agents import homes
from tests.agents.cases import Cases
from tests.support.scripted_model import Turn


class TestMini(Cases):
    name = "mini"
    end = (Turn("Done: hello.", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),)
    takes_any_prompt = False

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.mini(home, url)

    def test_a_configuration_of_the_repository_is_not_taken_for_its_own(self) -> None:
        with self.cli() as (cli, _):
            (cli.worktree / "mini.yaml").write_text("agent: {step_limit: 1}\n")
            assert cli.run().said.reported == "success"
