"""Where everything stands, as far as this state folder knows: tasks, what waits for people, the last runs.

Nothing here talks to origin.
"""

from __future__ import annotations

import time

import msgspec

from ent_agent import state
from ent_agent.config import Config
from ent_agent.loop import telling
from ent_agent.records import Record, RepositorySection, Usage
from ent_agent.repositories import syncing
from ent_agent.running import runs
from ent_agent.running.runs import Run
from ent_agent.selection import selection
from ent_agent.tracker.model import OPEN_STATES, Issue
from harness import lock
from harness.clock import timestamp

SCHEMA_VERSION = 1


class Task(msgspec.Struct, kw_only=True):
    """An open issue of the agent's. `reason`: why it is passed over, "" when it is ready."""

    id: str
    title: str
    state: str
    ready: bool
    reason: str
    attempts: int


class Waiting(msgspec.Struct, kw_only=True):
    """An issue that the agent worked on and that a person has now; None: nobody is assigned."""

    id: str
    title: str
    state: str
    waits_for: str | None


class PastRun(msgspec.Struct, kw_only=True):
    """A run of an agent. `at_work`: just now; `outcome` "": it has none yet, or was never finished."""

    id: str
    issue: str
    title: str
    agent_type: str
    phase: str
    at_work: bool
    started_at: str
    seconds: float | None
    outcome: str
    reason: str
    handed_to: str | None
    usage: Usage
    transcript: str


class Status(msgspec.Struct, kw_only=True):
    """All of it. `stop`: why no agent is started at all; "": one may be."""

    schema_version: int
    time: str
    agent: str
    state_folder: str
    loop_at_work: bool
    stop: str
    repository: RepositorySection | None
    tasks: list[Task]
    waiting: list[Waiting]
    runs: list[PastRun]


def gather(config: Config, last_runs: int = 10) -> Status:
    """The state of one agent on one repository; `last_runs`: how many of them, newest first."""
    folder = state.of(config)
    every = runs.every(config)
    return Status(
        schema_version=SCHEMA_VERSION,
        time=timestamp(),
        agent=config.id,
        state_folder=str(folder.root),
        loop_at_work=folder.root.is_dir() and not lock.is_free(folder.loop_lock),
        stop=selection.stop(config, time.time()),
        repository=syncing.last(config),
        tasks=[
            _task(record) for record in selection.select(Record(), config, everything=True) if record.issue
        ],
        waiting=_waiting(config, every),
        runs=[past(config, run) for run in reversed(every[-last_runs:])] if last_runs else [],
    )


def _task(record: Record) -> Task:
    assert record.issue
    return Task(
        id=record.issue.id,
        title=record.issue.title,
        state=record.issue.state,
        ready=not record.skipped,
        reason=record.skipped or "",
        attempts=record.issue.attempts,
    )


def _waiting(config: Config, every: list[Run]) -> list[Waiting]:
    view = selection.View.open(config)
    if view is None:
        return []
    worked = {run.issue for run in every}
    theirs = [
        one.id
        for one in view.summaries.values()
        if one.id in worked
        and not one.unreadable
        and one.state in OPEN_STATES
        and not config.is_agent(one.assignee)
    ]
    return [
        Waiting(id=issue.id, title=issue.title, state=issue.state, waits_for=issue.assignee or None)
        for issue in view.tracker.read(theirs).values()
        if isinstance(issue, Issue)
    ]


def past(config: Config, run: Run) -> PastRun:
    """A run as it is shown."""
    record = runs.record(run)
    section, result = record.run, record.result
    return PastRun(
        id=run.id,
        issue=run.issue,
        title=record.issue.title if record.issue else "",
        agent_type=section.agent_type if section else config.agent_type,
        phase=run.phase,
        at_work=run.phase != "finalized" and not lock.is_free(state.of(config).issue_lock(run.issue)),
        started_at=(section.started_at if section else "") or run.created_at,
        seconds=telling.ran_seconds(section),
        outcome=result.outcome if result else "",
        reason=result.reason if result else "",
        handed_to=result.handed_to if result else None,
        usage=section.usage if section else Usage(),
        transcript=section.transcript if section else "",
    )
