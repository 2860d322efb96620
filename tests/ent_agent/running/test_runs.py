"""Runs on disk: whole or not at all, and dead ones told from live ones by a lock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from ent_agent import state
from ent_agent.config import Config
from ent_agent.finalization.outcome import Verdict
from ent_agent.records import IssueSection, Record, decode
from ent_agent.running import runs
from ent_agent.running.runs import Ending
from harness import lock
from harness.errors import BadData
from harness.worktrees.leftovers import Withheld
from tests.support.sample import WELSH, configuration


@pytest.fixture
def config(place: Path) -> Config:
    return configuration(place, "x")


def plain(run: runs.Run) -> object:
    """All of a run, comparable."""
    return msgspec.json.decode(msgspec.json.encode(run))


def test_a_run_is_read_back_as_it_was_written(config: Config) -> None:
    run = runs.create(config, WELSH)
    line = b'{"schema_version": 1, "issue": {"id": "1", "title": "t", "description": "", "state": "new", "own": 1}}'
    runs.update(
        config,
        run,
        decode(line),
        phase="ran",
        claim_oids=["a", "b"],
        verdict=Verdict("failed", "why", counts=True),
        endings=[Ending(data="d", commits=["c"], handed_to=None)],
        withheld=[Withheld(path="p", rule="r")],
    )
    found = runs.load(config, run.id)
    assert plain(found) == plain(run)
    record = runs.record(found)
    assert record.issue and record.issue.title == "t"
    assert b'"own": 1' in bytes(found.record)


def test_two_holders_of_a_run_lose_nothing_of_each_other(config: Config) -> None:
    mine = runs.create(config, WELSH)
    theirs = runs.load(config, mine.id)
    runs.update(config, mine, phase="running")
    runs.update(config, theirs, claim_oids=["a"])
    runs.update(config, mine, Record(issue=IssueSection(id="1", title="t", description="", state="new")))
    assert (mine.phase, mine.claim_oids) == ("running", ["a"])
    assert plain(runs.load(config, mine.id)) == plain(mine)


def test_a_run_that_is_not_here_is_bad_data(config: Config) -> None:
    for name in ("0" * 16, "../../etc", ""):
        with pytest.raises(BadData, match="there is no run"):
            runs.load(config, name)


def test_a_folder_that_a_kill_left_without_a_file_is_no_run(config: Config) -> None:
    (state.of(config).runs / "abcd").mkdir(parents=True)
    assert runs.every(config) == []


def test_runs_come_oldest_first_and_the_last_one_of_an_issue_is_known(config: Config) -> None:
    made = []
    for number, issue in enumerate((WELSH, "other", WELSH)):
        run = runs.create(config, issue)
        runs.update(config, run, created_at=f"2026-01-01T00:00:0{number}+00:00")
        made.append(run)
    assert [run.id for run in runs.every(config)] == [run.id for run in made]
    newest = runs.last(config, WELSH)
    assert newest and newest.id == made[2].id
    assert runs.last(config, "nobody") is None


def test_a_run_is_dead_when_it_is_not_finished_and_nobody_holds_its_issue(config: Config) -> None:
    finished, dead = runs.create(config, "finished"), runs.create(config, "dead")
    runs.update(config, finished, phase="finalized")
    alive = runs.create(config, "alive")
    with lock.held(state.of(config).issue_lock("alive")):
        assert [run.id for run in runs.pending(config)] == [dead.id]
    assert {run.id for run in runs.pending(config)} == {dead.id, alive.id}


def test_a_holder_that_is_killed_is_dead_at_once(config: Config) -> None:
    run = runs.create(config, WELSH)
    program = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('held', flush=True); time.sleep(60)"
    )
    path = state.of(config).issue_lock(WELSH)
    path.parent.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline()
        assert runs.pending(config) == []
        holder.kill()
        holder.wait()
    assert [one.id for one in runs.pending(config)] == [run.id]
