"""One cron run of a host without processes between: `host_loop.py CONFIG [LOG]`, or `passes` in a test.

The agent is a few lines here. Each of its starts and ends is a line in LOG, by which a test
sees whether two were at one issue at once.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ent_agent import beginning, state
from ent_agent.claims.claims import Claim
from ent_agent.claims.heartbeat import Heartbeat
from ent_agent.config import Config, load
from ent_agent.finalization import finalization
from ent_agent.records import EndedBy, Record, RunSection, derive
from ent_agent.repositories import repositories, syncing
from ent_agent.running import runs
from ent_agent.selection import selection
from ent_agent.tracker import writer
from ent_agent.tracker.writer import AddComment
from ent_agent.worktrees import starting
from harness import lock
from harness.clock import timestamp
from harness.effects import reached
from harness.errors import Busy, Failure, TryLater
from harness.git import Git

NEEDS = ("agent", "identity", "repository")
PASSES = 60


def passes(config: Config, log: Path | None = None, *, fails: bool = False, seconds: float = 0.0) -> int:
    """Work until nothing is ready; returns the issues that were worked. `fails`: the agent does nothing."""
    worked = 0
    for _ in range(PASSES):
        with suppress(Busy):
            finish_dead(config)
        record = next(ready(config), None)
        if record is None:
            return worked
        with suppress(Busy):
            one_issue(record, config, log, fails=fails, seconds=seconds)
            worked += 1
    return worked


def finish_dead(config: Config) -> None:
    for record in finalization.pending(config):
        assert record.issue
        with lock.held(state.of(config).issue_lock(record.issue.id)):
            finalization.finalize(record, config)


def ready(config: Config) -> Iterator[Record]:
    [record] = beginning.records(config, NEEDS)
    record = syncing.sync(record, config)
    return selection.select(record, config, limit=1)


def one_issue(record: Record, config: Config, log: Path | None, *, fails: bool, seconds: float) -> None:
    assert record.issue
    with lock.held(state.of(config).issue_lock(record.issue.id)):
        record = starting.start(record, config)
        record = agent(record, config, log, fails=fails, seconds=seconds)
        finalization.finalize(record, config)


def agent(record: Record, config: Config, log: Path | None, *, fails: bool, seconds: float) -> Record:
    """What the run step does, with an agent that commits one file and says so."""
    assert record.claim and record.issue and record.worktree
    run = runs.load(config, record.claim.run)
    git = repositories.control(config)
    work = repositories.work(config)
    work.update_ref(run.line_ref, run.tracker_start)
    runs.update(config, run, record, phase="running")
    reached("run-started")
    heartbeat = Heartbeat(Claim.resume(config, git, run), config)
    ended_by: EndedBy = heartbeat.watch() or "exit"
    _note(log, "begin", record)
    until = time.monotonic() + seconds
    while time.monotonic() < until and ended_by == "exit":
        time.sleep(0.05)
        ended_by = heartbeat.watch() or "exit"
    if ended_by == "exit" and not fails:
        _act(record, config, work)
    _note(log, "end", record)
    reached("agent-ended")
    section = RunSection(
        id=run.id,
        agent_type="test",
        started_at=timestamp(),
        ended_at=timestamp(),
        exit_code=0,
        ended_by=ended_by,
        message="" if fails else "Done: it.",
    )
    record = derive(record, run=section)
    runs.update(config, run, record, phase="ran")
    reached("run-ended")
    return record


def _act(record: Record, config: Config, work: Git) -> None:
    """A commit on the branch, a left-over, a comment; none of them twice."""
    assert record.issue and record.worktree and record.claim
    worktree = Path(record.worktree.path)
    run = runs.load(config, record.claim.run)
    (worktree / "left-over.txt").write_text("left\n")
    if not (worktree / "work.txt").exists():
        (worktree / "work.txt").write_text("work\n")
        env = {
            f"GIT_{who}_{key}": "robo@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for key in ("NAME", "EMAIL")
        }
        agents = Git(worktree / ".git")
        for words in (("add", "work.txt"), ("commit", "--quiet", "-m", "Work")):
            agents.run(f"--work-tree={worktree}", *words, env=env, cwd=worktree)
    if "Looked at it." not in [comment.description for comment in record.issue.comments]:
        comment = AddComment(issue=record.issue.id, text="Looked at it.", author=config.person)
        writer.update(work, run.line_ref, lambda tip: writer.commit(work, tip, [comment]))


def _note(log: Path | None, what: str, record: Record) -> None:
    assert record.issue
    if log:
        with log.open("a") as file:
            file.write(f"{time.monotonic():.4f} {what} {record.issue.id} {os.getpid()}\n")


if __name__ == "__main__":
    try:
        passes(
            load(sys.argv[1]),
            Path(sys.argv[2]) if len(sys.argv) > 2 else None,
            seconds=float(sys.argv[3]) if len(sys.argv) > 3 else 0.0,
        )
    except TryLater as later:
        sys.exit(f"{later}")
    except Failure as failure:
        sys.exit(f"{failure}")
