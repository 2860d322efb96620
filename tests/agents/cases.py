"""What each agent CLI is tried with: a class of tests that a CLI's own class inherits."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from harness import sweeping
from harness.agent_output import Usage
from tests.support.cli_under_test import CliUnderTest, Ran
from tests.support.scripted_model import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, ScriptedModel, Turn

DONE = Turn("Done: hello.")
COMMIT = "echo hello > hello.txt && git add hello.txt && git commit --quiet -m 'Add hello'"
SLEEP = "touch ../../started && sleep 300"
DAEMON = (
    f"{sys.executable} -c \"import subprocess; print(subprocess.Popen(['sleep', '300'], start_new_session=True,"
    ' stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)" > ../../daemon'
)


@pytest.mark.agents
class Cases:
    name: ClassVar[str]
    """Of the adapter."""
    model: ClassVar[str] = ""
    end: ClassVar[tuple[Turn, ...]] = (DONE,)
    """How the model says that it is done."""
    success: ClassVar[str] = "success"
    """What is read out of the output of a run that went well; "": it has nothing but the exit code."""
    gives_up: ClassVar[bool] = True
    """Whether it gives up soon when its provider is broken."""
    says_unauthorized: ClassVar[bool] = True
    has_turn_limit: ClassVar[bool] = True
    reports_tokens: ClassVar[bool] = True
    """Of all its calls: some report nothing, or the last one alone."""
    reports_cost: ClassVar[bool] = False
    takes_any_prompt: ClassVar[bool] = True

    @pytest.fixture(autouse=True)
    def in_a_folder(self, place: Path) -> None:
        self.place = place

    def settle(self, home: Path, url: str) -> dict[str, str]:
        """Write the CLI's configuration for the model at `url`; the variables that it needs besides."""
        raise NotImplementedError

    @contextmanager
    def cli(self, *turns: Turn, status: int = 200) -> Iterator[tuple[CliUnderTest, ScriptedModel]]:
        with ScriptedModel(turns or [Turn("Creating.", COMMIT), *self.end], status) as model:
            cli = CliUnderTest(self.name, self.place, self.model)
            cli.variables = self.settle(cli.home, model.url)
            yield cli, model

    def stop_in_a_tool(self, cli: CliUnderTest) -> Ran:
        return cli.run(watch=lambda: "timeout" if (self.place / "started").exists() else None)

    def look_at_what_was_stopped(self, ran: Ran) -> None:
        """More that holds of this CLI."""

    # ---- the cases

    def test_it_works_to_a_commit_and_says_what_it_used(self) -> None:
        with self.cli() as (cli, model):
            ran = cli.run()
        assert (ran.ended.exit_code, ran.ended.ended_by) == (0, "exit"), ran.stderr
        assert ran.said.reported == self.success
        assert ran.said.message == "Done: hello."
        assert ran.git("log", "-1", "--format=%s, by %an") == "Add hello, by Robo"
        assert ran.git("status", "--porcelain", "--ignored") == ""
        calls = len(model.requests)
        used = Usage(
            input_tokens=calls * INPUT_TOKENS,  # without the cached ones
            output_tokens=calls * OUTPUT_TOKENS,
            cached_tokens=calls * CACHED_TOKENS,
            cost_usd=ran.said.usage.cost_usd,
        )
        assert not self.reports_tokens or ran.said.usage == used
        assert bool(ran.said.usage.cost_usd) == self.reports_cost

    def test_a_broken_provider_is_no_success(self) -> None:
        with self.cli(status=500) as (cli, _):
            ran = cli.run(timeout_seconds=100.0 if self.gives_up else 15.0)
        assert ran.said.reported in ("error", "")
        assert self.gives_up == (ran.ended.ended_by == "exit")
        assert ran.said.reported == "error" or ran.ended.exit_code != 0

    def test_a_refused_key_is_found(self) -> None:
        with self.cli(status=401) as (cli, _):
            ran = cli.run()
        assert ran.said.reported == ("auth" if self.says_unauthorized else "error")
        assert ran.ended.ended_by == "exit"

    def test_a_turn_limit_is_found(self) -> None:
        if not self.has_turn_limit:
            pytest.skip(f"{self.name} has no limit of turns")
        turns = [Turn(f"Looking at part {number}.", f"echo part {number}") for number in range(20)]
        with self.cli(*turns) as (cli, model):
            ran = cli.run(max_turns=3)
        assert ran.said.reported == "turn_limit"
        assert len(model.requests) <= 5

    def test_a_time_out_in_a_running_tool_leaves_nothing_running(self) -> None:
        with self.cli(Turn("Sleeping.", SLEEP), *self.end) as (cli, _):
            ran = self.stop_in_a_tool(cli)
        assert ran.ended.ended_by == "timeout"
        assert ran.said.reported != "success"
        assert sweeping.marked(cli.marker) == []
        self.look_at_what_was_stopped(ran)

    def test_a_daemon_that_it_leaves_behind_is_ended(self) -> None:
        with self.cli(Turn("Starting.", DAEMON), *self.end) as (cli, _):
            ran = cli.run()
        assert ran.said.reported == self.success
        daemon = int((self.place / "daemon").read_text())
        assert daemon in ran.ended.swept
        assert not Path(f"/proc/{daemon}").exists()

    def test_a_prompt_of_300_kb_reaches_the_model(self) -> None:
        prompt = "\n".join(
            ["Begin here, please.", *(f"Line {number} of the task." for number in range(13_000))]
        )
        assert len(prompt) > 300_000
        with self.cli() as (cli, model):
            ran = cli.run(prompt)
        assert ran.said.reported == self.success
        if self.takes_any_prompt:
            assert json.dumps(prompt)[1:-1] in json.dumps(model.requests[0])
        else:
            prompt_file = ran.run_dir / "prompt.md"
            assert prompt_file.read_text() == prompt
            assert json.dumps(str(prompt_file))[1:-1] in json.dumps(model.requests[0])
