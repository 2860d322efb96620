"""The loop with the real steps and stand-in agents: how it ends, and what is left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from ent_agent.config import load
from ent_agent.running import runs
from ent_agent.selection import attempts
from ent_agent.status import status
from tests.support.sample import SPELLING, WELSH, Sample, write_config

ROOT = Path(__file__).resolve().parents[3]
AGENTS = ROOT / "tests/support/agents"
ONE_ISSUE = ["--issue", WELSH]


def loop(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "invoke",
            "-r",
            str(ROOT),
            "loop",
            "--config",
            str(folder / "config.toml"),
            *options,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(running: subprocess.Popen[str]) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and events."""
    stdout, stderr = running.communicate(timeout=110)
    assert "Traceback" not in stderr + stdout, stderr + stdout
    return running.returncode, [json.loads(line) for line in stdout.splitlines()]


def work(folder: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
    return ended(loop(folder, *options))


def outcomes(events: list[dict[str, Any]]) -> dict[str, str]:
    return {event["issue"]: event["outcome"] for event in events if event["event"] == "ended"}


def until_at_work(folder: Path) -> str:
    """Wait for an agent; returns the run's id."""
    config = load(str(folder / "config.toml"))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for run in runs.every(config):
            if run.phase == "running" and marked(run.id):
                return run.id
        time.sleep(0.1)
    raise AssertionError("no agent was started")


def marked(run_id: str) -> list[int]:
    """Processes that carry a run's marker."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("ENT_RUN_ID") == run_id and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def claims(sample: Sample) -> list[str]:
    return list(sample.git.refs("refs/ent-agent/"))


def with_agent(place: Path, sample: Sample, name: str, extra: str = "") -> Path:
    """The configuration with a stand-in agent."""
    write_config(place, sample.url, extra, agent_type=str(AGENTS / f"{name}.toml"))
    return place


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_stops_its_agent_and_leaves_the_issue_as_if_not_begun(
    place: Path, sample: Sample, number: signal.Signals
) -> None:
    with_agent(place, sample, "hangs")
    running = loop(place, *ONE_ISSUE)
    run_id = until_at_work(place)
    running.send_signal(number)
    exit_code, events = ended(running)
    assert exit_code == 0
    assert events[-1]["event"] == "stopped"
    assert marked(run_id) == []
    assert claims(sample) == []
    config = load(str(place / "config.toml"))
    assert attempts.of_issue(config, WELSH).failed_attempts == 0
    write_config(place, sample.url)
    exit_code, events = work(place, *ONE_ISSUE)
    assert (exit_code, outcomes(events)) == (0, {WELSH: "completed"})


def test_told_to_end_before_its_agent_began_it_lets_the_issue_go(place: Path, sample: Sample) -> None:
    with_agent(place, sample, "hangs", '[worktree]\nsetup = ["sleep 60"]\n')
    running = loop(place, *ONE_ISSUE)
    until_at_work(place)
    running.terminate()
    exit_code, _ = ended(running)
    assert exit_code == 0
    assert claims(sample) == []
    config = load(str(place / "config.toml"))
    assert attempts.of_issue(config, WELSH).failed_attempts == 0


def test_kill_9_of_the_loop_ends_its_agent_and_the_next_loop_finishes(place: Path, sample: Sample) -> None:
    with_agent(place, sample, "ignores", '[limits]\nkill_grace = "1s"\n')
    running = loop(place, *ONE_ISSUE)
    run_id = until_at_work(place)
    running.kill()
    running.communicate(timeout=30)
    deadline = time.monotonic() + 30
    while marked(run_id) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert marked(run_id) == []
    write_config(place, sample.url)
    exit_code, events = work(place, *ONE_ISSUE)
    assert exit_code == 0
    assert outcomes(events)[WELSH] == "completed"
    assert claims(sample) == []
    assert not [run for run in runs.every(load(str(place / "config.toml"))) if run.phase != "finalized"]


@pytest.mark.parametrize(("agent", "exit_code"), [("quota", 75), ("auth", 77)])
def test_an_agent_that_is_out_ends_the_loop_and_the_next_one_starts_none(
    place: Path, sample: Sample, agent: str, exit_code: int
) -> None:
    with_agent(place, sample, agent)
    first, events = work(place)
    assert first == exit_code
    assert outcomes(events) == {SPELLING: agent}
    second, events = work(place)
    assert second == 0
    assert outcomes(events) == {}
    assert any(event["event"] == "no_start" for event in events)
    gathered = status.gather(load(str(place / "config.toml")))
    assert gathered.stop and all(task.attempts == 0 for task in gathered.tasks)
    assert claims(sample) == []


def test_an_agent_that_does_nothing_fails_and_backs_off(place: Path, sample: Sample) -> None:
    with_agent(place, sample, "nothing")
    exit_code, events = work(place)
    assert exit_code == 0
    assert outcomes(events) == {SPELLING: "failed", WELSH: "failed"}
    waiting = [event for event in events if event["event"] == "passed_over" and event["issue"] == WELSH]
    assert "failed attempt" in waiting[-1]["reason"]


def test_two_jobs_work_two_issues_at_once(place: Path, sample: Sample) -> None:
    write_config(place, sample.url)
    exit_code, events = work(place, "--jobs", "2")
    assert (exit_code, outcomes(events)) == (0, {SPELLING: "completed", WELSH: "completed"})
    order = [event["event"] for event in events if event["event"] in ("begun", "ended")]
    assert order[:2] == ["begun", "begun"]
    assert claims(sample) == []


def test_two_hosts_share_the_issues_and_none_is_worked_twice(place: Path, sample: Sample) -> None:
    folders = [place / "one host", place / "another höst"]
    for folder in folders:
        folder.mkdir()
        write_config(folder, sample.url)
    running = [loop(folder) for folder in folders]
    results = [ended(one) for one in running]
    assert [exit_code for exit_code, _ in results] == [0, 0]
    done = [issue for _, events in results for issue in outcomes(events)]
    assert sorted(done) == [WELSH, SPELLING]
    assert claims(sample) == []
    for issue in (WELSH, SPELLING):
        assert sample.read(f"{issue}/state") == "blocked"
        assert len([text for text in sample.comments(issue) if text.startswith("Done:")]) == 1


def test_a_dead_remote_is_75_and_says_so(place: Path, sample: Sample) -> None:
    write_config(place, str(place / "nowhere.git"), '[loop]\nretry_delay = "50ms"\nmax_retries = 1\n')
    exit_code, events = work(place)
    assert exit_code == 75
    assert len([event for event in events if event["event"] == "failed"]) == 2
    assert "nowhere.git" in json.dumps(events)


def test_a_dry_run_changes_nothing_on_origin(place: Path, sample: Sample, config_file: Path) -> None:
    before = (sample.branches(), claims(sample))
    exit_code, events = work(place, "--dry-run")
    assert exit_code == 0
    assert {event["issue"] for event in events if event["event"] == "would_work"} == {WELSH, SPELLING}
    assert (sample.branches(), claims(sample)) == before
