"""The beginning of a run: worktree, claim, state and attempt, and the same end after a kill between any two."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.claims.claims import Claim
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.repositories import repositories, syncing
from ent_agent.running import briefing, runs
from ent_agent.selection import attempts, selection
from ent_agent.tracker.reader import Tracker
from ent_agent.worktrees import starting
from harness import lock, process
from harness.errors import Busy, TryLater
from tests.support.sample import SPELLING, WELSH, Sample, configuration

STEPS = [
    "worktree-decided",
    "worktree-placed",
    "worktree-branch-set",
    "run-created",
    "claim-recorded",
    "claim-pushed",
    "claim-confirmed",
    "run-claimed",
    "run-in-progress",
    "run-counted",
    "run-started",
]

PROGRAM = """
import sys
from ent_agent import config, records, state
from ent_agent.repositories import syncing
from ent_agent.selection import selection
from ent_agent.worktrees import starting
from harness import lock
c = config.load(sys.argv[1])
record = selection.pick(records.Record(repository=syncing.last(c)), c, sys.argv[2])
with lock.held(state.of(c).issue_lock(sys.argv[2])):
    starting.start(record, c)
"""


@pytest.fixture
def config(place: Path, sample: Sample) -> Config:
    config = configuration(place, sample.url)
    syncing.sync(Record(), config)
    return config


def chosen(config: Config, issue: str = WELSH) -> Record:
    return selection.pick(Record(repository=syncing.last(config)), config, issue)


def start(config: Config, issue: str = WELSH) -> Record:
    record = chosen(config, issue)
    with lock.held(state.of(config).issue_lock(issue)):
        return starting.start(record, config)


def unfinished(config: Config) -> list[runs.Run]:
    return [run for run in runs.every(config) if run.phase != "finalized"]


def is_begun(config: Config, sample: Sample, record: Record) -> None:
    """One run, one claim on origin, the issue in progress on the run's line alone, one attempt counted."""
    (run,) = unfinished(config)
    assert record.claim and record.claim.run == run.id and run.phase == "claimed"
    assert list(sample.git.refs("refs/ent-agent/").values()) == [record.claim.oid]
    git = repositories.control(config)
    assert git.resolve(run.line_ref) == run.tracker_start
    assert Tracker(git, run.tracker_start).issue(WELSH).state == "inprogress"
    assert sample.read(f"{WELSH}/state") == "new"
    known = attempts.of_issue(config, WELSH)
    assert (known.failed_attempts, known.counted_run) == (1, run.id)
    assert [one.run for one in attempts.of_agent(config).starts] == [run.id]
    assert runs.record(run).worktree == record.worktree


def test_a_run_is_begun(config: Config, sample: Sample) -> None:
    record = start(config)
    is_begun(config, sample, record)
    assert record.issue and record.issue.attempts == 0 and record.issue.state == "new"
    assert record.worktree and record.worktree.start == sample.branches()["main"]


def test_begun_again_it_is_the_same_run(config: Config, sample: Sample) -> None:
    first, second = start(config), start(config)
    assert first.claim and second.claim and first.claim.run == second.claim.run
    is_begun(config, sample, second)


@pytest.mark.parametrize("step", STEPS)
def test_killed_anywhere_the_next_start_comes_to_the_same_end(
    config: Config, sample: Sample, step: str
) -> None:
    words = [sys.executable, "-c", PROGRAM, config.path, WELSH]
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path), "ENT_AGENT_STOP_AT": step}
    killed = process.run(words, env=env)
    assert killed.exit_code == -signal.SIGKILL, killed.error_text
    is_begun(config, sample, start(config))


def test_processes_that_a_dead_run_left_are_ended_before_its_worktree_is_touched(
    config: Config, sample: Sample
) -> None:
    record = start(config)
    assert record.claim and record.worktree
    orphan = subprocess.Popen(
        ["sleep", "60"],
        env={**os.environ, "ENT_RUN_ID": record.claim.run},
        cwd=record.worktree.path,
        start_new_session=True,
    )
    time.sleep(0.1)
    start(config)
    assert orphan.wait(10) == -signal.SIGKILL


def test_a_run_whose_agent_was_started_is_finished_first(config: Config) -> None:
    start(config)
    (run,) = unfinished(config)
    runs.update(config, run, phase="running")
    with pytest.raises(TryLater, match="has not been finished") as failed:
        start(config)
    assert failed.value.code == "not_finalized" and "--pending" in failed.value.hint


def test_what_came_to_the_branch_between_the_look_and_the_claim_is_worked_on(
    config: Config, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Claim.take.__func__  # type: ignore[attr-defined]
    pushed: list[str] = []

    def slow(cls: type[Claim], *args: object) -> Claim:
        pushed.append(sample.commit({"by a person.txt": b"1\n"}, f"robo/{WELSH}"))
        return take(cls, *args)  # type: ignore[no-any-return]

    monkeypatch.setattr(Claim, "take", classmethod(slow))
    record = start(config)
    assert record.worktree and record.worktree.start == record.worktree.remote_head == pushed[0]
    assert (Path(record.worktree.path) / "by a person.txt").exists()


def test_what_a_person_wrote_since_the_choice_is_in_the_record(config: Config, sample: Sample) -> None:
    record = chosen(config)
    comment = f"{WELSH}/comments/{'d' * 32}"
    sample.change(
        {
            f"{comment}/description": b"One more thing",
            f"{comment}/author": b"Alice <alice@example.org>",
            f"{comment}/creation_time": b"2026-02-01T00:00:00+00:00",
        }
    )
    with lock.held(state.of(config).issue_lock(WELSH)):
        started = starting.start(record, config)
    assert started.issue
    assert [comment.description for comment in started.issue.comments] == ["One more thing"]


def test_what_a_killed_run_left_uncommitted_stays_and_the_agent_is_told(config: Config) -> None:
    record = start(config)
    assert record.worktree
    (Path(record.worktree.path) / "half done é.txt").write_text("1\n")
    record = start(config)
    assert record.worktree and record.worktree.left_over == ["half done é.txt"]
    prompt = briefing.task(record, config)
    assert "What lies uncommitted" in prompt and "- half done é.txt" in prompt


@pytest.mark.parametrize("change", [{"state": b"done"}, {"assignee": b"alice"}, {"assignee": None}])
def test_an_issue_that_is_not_ours_any_more_is_let_go_without_a_trace_on_origin(
    config: Config, sample: Sample, change: dict[str, bytes | None]
) -> None:
    record = chosen(config)
    sample.change({f"{WELSH}/{name}": value for name, value in change.items()})
    with lock.held(state.of(config).issue_lock(WELSH)), pytest.raises(Busy):
        starting.start(record, config)
    assert sample.git.refs("refs/ent-agent/") == {} and unfinished(config) == []
    assert attempts.of_issue(config, WELSH).failed_attempts == 0


def test_an_issue_that_another_host_has_is_left_to_it(place: Path, config: Config, sample: Sample) -> None:
    (place / "host2").mkdir()
    other = configuration(place / "host2", sample.url)
    syncing.sync(Record(), other)
    start(other)
    record = chosen(config)
    with lock.held(state.of(config).issue_lock(WELSH)), pytest.raises(Busy):
        starting.start(record, config)
    assert unfinished(config) == [] and len(unfinished(other)) == 1
    assert attempts.of_issue(config, WELSH).failed_attempts == 0


def test_an_origin_that_is_gone_leaves_the_run_to_be_taken_up(config: Config, sample: Sample) -> None:
    record = chosen(config)
    sample.origin.rename(sample.origin.with_name("away.git"))
    with lock.held(state.of(config).issue_lock(WELSH)), pytest.raises(TryLater):
        starting.start(record, config)
    sample.origin.with_name("away.git").rename(sample.origin)
    is_begun(config, sample, start(config))


def test_two_issues_are_begun_side_by_side(config: Config, sample: Sample) -> None:
    words = [[sys.executable, "-c", PROGRAM, config.path, issue] for issue in (WELSH, SPELLING)]
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    started = [subprocess.Popen(each, env=env) for each in words]
    assert [child.wait(60) for child in started] == [0, 0]
    assert len(sample.git.refs("refs/ent-agent/claims/")) == 2


def test_failed_attempts_before_this_one_are_told(config: Config, sample: Sample) -> None:
    record = start(config)
    assert record.claim
    attempts.record_failure(config, WELSH, record.claim.run, time.time())
    (run,) = unfinished(config)
    runs.update(config, run, phase="finalized")
    again = start(config)
    assert again.issue and again.issue.attempts == 1
    assert attempts.of_issue(config, WELSH).failed_attempts == 2
