"""The status: tasks with their reasons, what waits for whom, the last runs; a table or JSON."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ent_agent import state
from ent_agent.config import Config, load
from ent_agent.records import Record
from ent_agent.repositories import syncing
from ent_agent.selection import pausing
from ent_agent.status import status
from harness import lock
from tests.support import past
from tests.support.sample import BROKEN, GOODBYE, SPELLING, WELSH, Sample

BIN = Path(__file__).resolve().parents[3] / "bin"


@pytest.fixture
def config(config_file: Path) -> Config:
    return load(str(config_file))


def synced(config: Config) -> None:
    syncing.sync(Record(), config)


def shown() -> subprocess.CompletedProcess[str]:
    """The command, its output piped."""
    return subprocess.run([BIN / "ent-agent-status"], capture_output=True, text=True, timeout=60, check=False)


def on_a_terminal(*command: str | Path) -> str:
    """What a command writes on a terminal that is 120 wide."""
    ours, theirs = os.openpty()
    env = {**os.environ, "COLUMNS": "120", "TERM": "xterm", "NO_COLOR": "1"}
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says EIO when the last writer is gone
            break
        if not piece:
            break
        written += piece
    os.close(ours)
    running.wait(timeout=60)
    return written.decode()


def test_before_the_first_sync_it_says_so(config: Config) -> None:
    gathered = status.gather(config)
    assert gathered.repository is None
    assert gathered.tasks == [] and gathered.runs == []
    assert "never synced" in on_a_terminal(BIN / "ent-agent-status")


def test_tasks_stand_in_working_order_with_their_reasons(config: Config) -> None:
    synced(config)
    tasks = {task.id: task for task in status.gather(config).tasks}
    assert list(tasks) == [SPELLING, GOODBYE, WELSH, BROKEN]
    assert tasks[WELSH].ready and tasks[WELSH].reason == ""
    assert not tasks[GOODBYE].ready and tasks[GOODBYE].reason.startswith("waits for 1111")
    assert tasks[BROKEN].reason.startswith("cannot be read")


def test_what_a_person_has_waits_for_that_person(config: Config, sample: Sample) -> None:
    past.run(config, WELSH, outcome="stuck", reason="cannot spell", handed_to="alice")
    sample.change({f"{WELSH}/assignee": b"alice", f"{WELSH}/state": b"blocked"})
    synced(config)
    (waiting,) = status.gather(config).waiting
    assert (waiting.id, waiting.state, waiting.waits_for) == (WELSH, "blocked", "alice")


def test_an_issue_that_was_finished_waits_for_nobody(config: Config, sample: Sample) -> None:
    past.run(config, WELSH, outcome="completed", handed_to="alice")
    sample.change({f"{WELSH}/assignee": b"alice", f"{WELSH}/state": b"done"})
    synced(config)
    assert status.gather(config).waiting == []


def test_the_last_runs_come_newest_first_with_what_they_took(config: Config) -> None:
    older = past.run(config, WELSH, outcome="failed", reason="no commit")
    newer = past.run(config, SPELLING)
    first, second = status.gather(config).runs
    assert {first.id, second.id} == {older.id, newer.id}
    by_id = {first.id: first, second.id: second}
    assert (by_id[newer.id].outcome, by_id[newer.id].phase) == ("", "ran")
    ended = by_id[older.id]
    assert (ended.outcome, ended.reason, ended.seconds) == ("failed", "no commit", 165.0)
    assert (ended.usage.input_tokens, ended.usage.cost_usd) == (12000, 0.125)
    assert len(status.gather(config, last_runs=1).runs) == 1


def test_a_run_whose_issue_is_held_is_at_work(config: Config) -> None:
    past.run(config, WELSH)
    assert not status.gather(config).runs[0].at_work
    with lock.held(state.of(config).issue_lock(WELSH)):
        assert status.gather(config).runs[0].at_work


def test_a_pause_and_a_loop_are_said(config: Config) -> None:
    pausing.pause(config, reason="holidays")
    with lock.held(state.of(config).loop_lock):
        gathered = status.gather(config)
    assert "holidays" in gathered.stop
    assert gathered.loop_at_work


def test_piped_it_is_one_json_object(config: Config) -> None:
    synced(config)
    past.run(config, WELSH, outcome="completed", handed_to="alice")
    ran = shown()
    assert (ran.returncode, ran.stderr) == (0, "")
    parsed: dict[str, Any] = json.loads(ran.stdout)
    assert parsed["schema_version"] == 1
    assert parsed["runs"][0]["outcome"] == "completed"
    assert [task["id"] for task in parsed["tasks"] if task["ready"]] == [SPELLING, WELSH]


def test_on_a_terminal_it_is_tables_and_texts_do_not_steer_them(config: Config, sample: Sample) -> None:
    sample.change({f"{WELSH}/description": b"A [red]title\x1b[31m with \x07 bells"})
    synced(config)
    past.run(config, WELSH, outcome="failed", reason="no [bold]commit\x1b]0;x\x07")
    text = on_a_terminal(BIN / "ent-agent-status")
    for part in (
        "Tasks",
        "ready",
        "Last runs",
        "12k + 340",
        "0.12 USD",
        "3 min",
        "A [red]title",
        "no [bold]commit",
    ):
        assert part in text, text
    assert "\x07" not in text and "\x1b]0" not in text and "\x1b[31m" not in text


def test_without_a_configuration_it_is_78(place: Path) -> None:
    ran = shown()
    assert ran.returncode == 78
    assert json.loads(ran.stderr)["code"] == "configuration"
