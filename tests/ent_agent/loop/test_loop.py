"""The loop on stand-ins for the steps: what it calls, in which order, how often, and how it ends."""

from __future__ import annotations

import ctypes
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ent_agent.config import Config
from ent_agent.loop import loop, progress, telling
from ent_agent.loop.loop import Options
from ent_agent.loop.pipeline import Steps
from ent_agent.running import runs
from harness import process
from tests.support import sample, steps

ROOT = Path(__file__).resolve().parents[3]
PR_GET_DUMPABLE = 3
FAST = '[loop]\nretry_delay = "10ms"\nmax_retries = 2\n'


class Loop:
    """A loop on stand-ins, and what came of it."""

    def __init__(self, place: Path, **play: Any) -> None:
        self.folder = steps.install(place / "steps", **play)
        self.config: Config = sample.configuration(place, "nowhere.git", FAST)
        self.said: list[dict[str, Any]] = []

    def run(self, call: Callable[..., int] = loop.run, interval_seconds: float = 0.01, **options: Any) -> int:
        stream = io.StringIO()
        told = progress.to(stream)
        exit_code = call(
            self.config,
            Options(interval_seconds=interval_seconds, **options),
            told,
            Steps(self.config.path, telling.of_steps(told), self.folder),
        )
        self.said = [json.loads(line) for line in stream.getvalue().splitlines()]
        return exit_code

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """The loop as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.steps", self.config.path, self.folder, *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}/lib:{ROOT}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def calls(self, *beginnings: str) -> list[str]:
        return [line for line in steps.calls(self.folder) if line.startswith(beginnings or "")]

    def until(self, line: str) -> None:
        """Wait for a call."""
        deadline = time.monotonic() + 20
        while line not in self.calls():
            assert time.monotonic() < deadline, self.calls()
            time.sleep(0.02)

    def events(self, event: str) -> list[dict[str, Any]]:
        return [said for said in self.said if said["event"] == event]


def test_what_is_ready_is_worked_in_order_and_the_loop_ends(place: Path) -> None:
    it = Loop(place, ready=["b", "a"])
    assert it.run() == 0
    assert it.calls("worktree", "run", "finalize") == [
        *("worktree b", "run b", "finalize b"),
        *("worktree a", "run a", "finalize a"),
    ]
    assert [said["issue"] for said in it.events("ended")] == ["b", "a"]
    assert it.events("ended")[0]["handed_to"] == "alice"


def test_what_an_earlier_loop_left_is_finished_first(place: Path) -> None:
    it = Loop(place, ready=["a"])
    left = runs.create(it.config, "left")
    assert it.run() == 0
    assert it.calls()[:3] == ["finalize --pending", "sync", "select"]
    runs.update(it.config, left, phase="finalized", notice="quota")
    assert it.run() == 0
    assert len(it.calls("finalize --pending")) == 2
    runs.update(it.config, left, notice="")
    assert it.run() == 0
    assert len(it.calls("finalize --pending")) == 2


def test_what_an_issue_made_ready_is_worked_too(place: Path) -> None:
    it = Loop(place, ready=["a", "b"], waiting={"a": "b"})
    assert it.run() == 0
    assert it.calls("run") == ["run b", "run a"]


def test_once_works_the_first_only(place: Path) -> None:
    it = Loop(place, ready=["a", "b"])
    assert it.run(once=True) == 0
    assert it.calls("run") == ["run a"]


def test_nothing_to_do_is_no_failure(place: Path) -> None:
    it = Loop(place, skipped={"a": "waits for b"})
    assert it.run() == 0
    assert [(said["issue"], said["reason"]) for said in it.events("passed_over")] == [("a", "waits for b")]
    assert it.events("nothing_ready")


def test_an_issue_that_stays_ready_is_not_worked_without_end(place: Path) -> None:
    it = Loop(place, ready=["a", "b"], steps={"finalize a": ["again"]})
    assert it.run() == 0
    assert it.calls("run") == ["run a", "run a", "run a", "run b"]


def test_a_git_failure_is_tried_again_and_forgotten(place: Path) -> None:
    it = Loop(place, ready=["a"], steps={"sync": ["error git_failed 75", "ok"]})
    assert it.run() == 0
    assert it.calls("run") == ["run a"]
    assert [said["code"] for said in it.events("failed")] == ["git_failed"]
    assert len(it.events("retry")) == 1


def test_a_git_failure_that_stays_ends_as_75_after_max_retries(place: Path) -> None:
    it = Loop(place, ready=["a"], steps={"sync": ["error git_failed 75"]})
    assert it.run() == 75
    assert len(it.calls("sync")) == 3
    assert it.calls("worktree") == []


def test_a_refused_hand_back_is_finished_in_the_next_pass(place: Path) -> None:
    it = Loop(place, ready=["a"], steps={"finalize a": ["error git_failed 75", "ok"]})
    runs.create(it.config, "a")
    assert it.run() == 0
    assert len(it.calls("finalize --pending")) == 2


def test_a_wrong_configuration_is_not_tried_again(place: Path) -> None:
    it = Loop(place, ready=["a"], steps={"sync": ["fail configuration 78"]})
    assert it.run() == 78
    assert it.calls() == ["sync"]
    assert it.events("failed")[0]["message"] == "sync: sync said configuration"


@pytest.mark.parametrize(
    ("agent", "exit_code"), [("no-such-adapter", 78), ("./missing.toml", 78), ("./gone.toml", 69)]
)
def test_an_agent_that_cannot_start_is_told_before_any_issue_is_touched(
    place: Path, agent: str, exit_code: int
) -> None:
    (place / "gone.toml").write_text('command = ["no-such-agent"]\ninstall = "get it"\n', "utf-8")
    it = Loop(place, ready=["a"])
    it.config = sample.configuration(place, "nowhere.git", FAST, agent_type=agent)
    assert it.run() == exit_code
    assert it.calls() == []
    assert it.events("failed")[0]["step"] == "agent"


def test_an_issue_that_fails_does_not_keep_the_others(place: Path) -> None:
    play = {"worktree a": ["error configuration 78"], "worktree b": ["die"], "worktree c": ["error x 65"]}
    it = Loop(place, ready=["a", "b", "c", "d"], steps=play)
    assert it.run() == 78
    assert it.calls("run") == ["run d"]
    assert it.calls("worktree") == ["worktree a", "worktree b", "worktree c", "worktree d"]


def test_an_issue_that_somebody_else_works_on_is_no_failure(place: Path) -> None:
    it = Loop(place, ready=["a", "b"], steps={"worktree a": ["error busy 75"]})
    assert it.run() == 0
    assert it.calls("worktree", "run") == ["worktree a", "worktree b", "run b"]


@pytest.mark.parametrize(("outcome", "exit_code"), [("quota", 75), ("auth", 77)])
def test_an_agent_that_is_out_gets_no_further_issue(place: Path, outcome: str, exit_code: int) -> None:
    it = Loop(place, ready=["a", "b"], steps={"finalize a": [f"outcome {outcome}"]})
    assert it.run() == exit_code
    assert it.calls("run") == ["run a"]


def test_jobs_work_issues_at_once_and_none_twice(place: Path) -> None:
    it = Loop(place, ready=["a", "b", "c"], steps={"run": ["sleep 0.7"]})
    assert it.run(jobs=2) == 0
    work = it.calls("run", "slept")
    assert set(work[:2]) == {"run a", "run b"}
    assert sorted(it.calls("run")) == ["run a", "run b", "run c"]


def test_a_dry_run_looks_and_touches_nothing(place: Path) -> None:
    it = Loop(place, ready=["a"], skipped={"b": "backs off"})
    assert it.run(loop.dry_run) == 0
    assert it.calls() == ["sync", "select"]
    assert [said["issue"] for said in it.events("would_work")] == ["a"]
    assert [said["issue"] for said in it.events("passed_over")] == ["b"]


def test_a_second_loop_says_so_and_is_no_failure(place: Path) -> None:
    it = Loop(place, ready=["a"], steps={"run": ["sleep 30"]})
    first = it.start()
    try:
        it.until("run a")
        second = it.start()
        _, stderr = second.communicate(timeout=20)
        assert second.returncode == 0
        assert b"another loop is at work" in stderr and str(first.pid).encode() in stderr
    finally:
        first.terminate()
        first.communicate(timeout=20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_stops_the_agent_finishes_its_issue_and_begins_nothing(
    place: Path, number: signal.Signals
) -> None:
    it = Loop(place, ready=["a", "b"], steps={"run": ["sleep 30"]})
    running = it.start()
    it.until("run a")
    time.sleep(0.2)
    running.send_signal(number)
    stdout, _ = running.communicate(timeout=20)
    assert running.returncode == 0
    assert it.calls("run", "stopped", "finalize a") == ["run a", "stopped run a", "finalize a"]
    assert json.loads(stdout.splitlines()[-1])["event"] == "stopped"


def test_forever_goes_on_after_failures_until_told_to_end(place: Path) -> None:
    it = Loop(place, ready=["a"], steps={"sync": ["error git_failed 75"] * 5 + ["ok"]})
    running = it.start("--forever")
    it.until("done a")
    for _ in range(200):
        if len(it.calls("sync")) >= 9:
            break
        time.sleep(0.05)
    running.terminate()
    running.communicate(timeout=20)
    assert running.returncode == 0
    assert len(it.calls("sync")) >= 9
    assert it.calls("run") == ["run a"]


def test_a_free_job_takes_up_what_comes_while_another_is_at_work(place: Path) -> None:
    it = Loop(place, ready=["a"], steps={"run a": ["sleep 30"]})
    running = it.start("--forever", "--jobs")
    it.until("run a")
    steps.install(it.folder, ready=["a", "b"], steps={"run a": ["sleep 30"]})
    it.until("done b")
    running.terminate()
    running.communicate(timeout=20)
    assert it.calls("run", "stopped") == ["run a", "run b", "stopped run a"]


def test_kill_9_of_the_loop_ends_its_steps(place: Path) -> None:
    it = Loop(place, ready=["a"], steps={"run": ["sleep 30"]})
    running = it.start()
    it.until("run a")
    time.sleep(0.2)
    running.kill()
    running.communicate()
    it.until("stopped run a")


def test_a_step_that_does_not_end_is_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "STEP_SECONDS", 0.8)
    it = Loop(place, ready=["a"], steps={"sync": ["sleep 30", "ok"]})
    started = time.monotonic()
    assert it.run() == 0
    assert time.monotonic() - started < 15
    assert it.events("failed")[0]["code"] == "step_overdue"
    assert it.calls("stopped", "run") == ["stopped sync", "run a"]


def test_while_it_runs_no_other_process_of_its_user_reads_its_memory(place: Path) -> None:
    prctl = ctypes.CDLL(None).prctl
    prctl(process.PR_SET_DUMPABLE, 1, 0, 0, 0)
    Loop(place).run()
    assert prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0
    prctl(process.PR_SET_DUMPABLE, 1, 0, 0, 0)
