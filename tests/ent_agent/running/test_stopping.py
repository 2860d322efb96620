"""A run that is told to stop saves and pushes its work, gives its attempt back, and leaves the issue as it is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.config import Config
from ent_agent.running import runs, stopping
from ent_agent.selection import attempts
from harness import lock, process
from harness.errors import BadData
from harness.process import Finished
from tests.support import past
from tests.support.sample import NOBODYS, WELSH, Sample, configuration

BIN = Path(__file__).resolve().parents[3] / "bin"

# Commits, leaves a file uncommitted, and then does nothing for long; what INT does is its argument.
AGENT = """#!/bin/sh
trap "$1" INT
cat >/dev/null
echo one >committed && git add committed && git commit -qm "Begin" && echo two >left-over
echo ready
while :; do sleep 0.1; done
"""


@pytest.fixture
def config(place: Path, sample: Sample) -> Config:
    agent(place, "exit 0")
    return configuration(place, sample.url, '[limits]\nkill_grace = "30s"\n', agent_type="./agent.toml")


def agent(place: Path, on_stop: str) -> None:
    (place / "agent").write_text(AGENT)
    (place / "agent").chmod(0o755)
    (place / "agent.toml").write_text(f'command = ["./agent", "{on_stop}"]\nstop_signal = "INT"\n')


@pytest.fixture
def loop(config: Config) -> Iterator[subprocess.Popen[bytes]]:
    """A loop that has started the agent on an issue; the others go to nobody."""
    words = [sys.executable, "-m", "invoke", "-r", str(BIN.parent), "loop", "--issue", WELSH]
    log = (config.path.parent / "log").open("wb")
    running = subprocess.Popen(
        [*words, "--config", str(config.path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    try:
        await_agent(config)
        yield running
    finally:
        running.terminate()
        running.wait(timeout=60)


def await_agent(config: Config) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        run = runs.last(config, WELSH)
        output = state.of(config).run(run.id) / "stdout.log" if run else None
        if output and output.exists() and b"ready" in output.read_bytes():
            return
        time.sleep(0.1)
    raise AssertionError("the agent was not started")


def stop(config: Config, *options: str) -> Finished:
    words = [BIN / "ent-agent-stop", WELSH[:6], "--config", config.path, *options]
    return process.run(words, timeout_seconds=90)


def test_a_run_that_is_told_to_stop_saves_its_work_and_its_issue_stays(
    config: Config, loop: subprocess.Popen[bytes], sample: Sample
) -> None:
    stopped = stop(config)
    assert (stopped.exit_code, json.loads(stopped.text)["outcome"]) == (0, "saved")
    assert loop.wait(60) == 0  # it does not begin the same issue again
    branch = f"refs/heads/robo/{WELSH}"
    assert sample.git.lines("ls-tree", "--name-only", branch) == [
        "README.md",
        "committed",
        "greet.sh",
        "left-over",
    ]
    assert sample.git.text("log", "-1", "--format=%s", branch) == "WIP: Greet in Welsh"
    assert sample.read(f"{WELSH}/assignee") == "Robo"
    assert sample.comments(WELSH) == []
    assert sample.git.refs("refs/ent-agent/") == {}
    assert attempts.of_issue(config, WELSH).failed_attempts == 0
    result = runs.record(runs.every(config)[-1]).result
    assert result and (result.outcome, result.reason) == ("cancelled", "the run was told to stop")


def test_now_does_not_wait_for_an_agent_that_ignores_its_signal(
    place: Path, config: Config, request: pytest.FixtureRequest
) -> None:
    agent(place, "")
    request.getfixturevalue("loop")
    started = time.monotonic()
    stopped = stop(config, "--now")
    assert (stopped.exit_code, json.loads(stopped.text)["outcome"]) == (0, "saved")
    assert time.monotonic() - started < 25
    section = runs.record(runs.every(config)[-1]).run
    assert section and (section.ended_by, section.signal) == ("interrupted", "KILL")


def test_without_waiting_it_is_only_asked(config: Config, loop: subprocess.Popen[bytes]) -> None:
    stopped = stop(config, "--wait", "0s")
    assert (stopped.exit_code, json.loads(stopped.text)["outcome"]) == (0, "asked")
    assert loop.wait(60) == 0


def test_a_run_that_has_died_is_told_from_one_at_work(config: Config) -> None:
    run = runs.create(config, WELSH)
    runs.update(config, run, phase="running")
    stopped = stopping.stop(config, WELSH)
    assert stopped and (stopped.run, stopped.outcome) == (run.id, "dead")


def test_a_run_that_does_not_end_in_time_is_said(config: Config) -> None:
    run = runs.create(config, WELSH)
    runs.update(config, run, phase="running")
    with lock.held(state.of(config).issue_lock(WELSH)):
        stopped = stopping.stop(config, WELSH, wait_seconds=0.5)
        assert stopped and stopped.outcome == "asked"
        late = stop(config, "--wait", "1s")
    assert late.exit_code == 75 and b"--now" in late.stderr


def test_the_watch_sees_a_request_once_and_else_what_it_saw_before(config: Config) -> None:
    run = runs.create(config, WELSH)
    heed = stopping.heeding(config, run.id, lambda: "cancelled")
    assert heed() == "cancelled"
    with lock.held(state.of(config).issue_lock(WELSH)):
        stopping.stop(config, WELSH, wait_seconds=0.0)
    assert heed() == "interrupted"
    assert heed() == "cancelled"


def test_nothing_to_stop_is_no_failure_but_a_wrong_id_is_one(config: Config) -> None:
    past.run(config, WELSH, outcome="completed")
    past.run(config, NOBODYS, outcome="completed")
    assert stopping.stop(config, WELSH[:4]) is None
    with pytest.raises(BadData, match="never worked here"):
        stopping.stop(config, "beef")
    past.run(config, WELSH[:8] + "f" * 24, outcome="completed")
    with pytest.raises(BadData, match="several issues"):
        stopping.stop(config, WELSH[:4])
