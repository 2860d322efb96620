"""Rows of `runs`: each time that a session worked, from its inputs to an outcome."""

from __future__ import annotations

import os

import msgspec
from sqlalchemy import Connection, insert, select, update

from fordjent.store.schema import runs


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` "": it runs, or was interrupted and goes on. `running_seconds`: without what it was down."""

    id: str
    key: str
    role: str
    agent_type: str
    started_at: float
    ended_at: float | None = None
    running_seconds: float = 0.0
    turns: int = 0
    outcome: str = ""
    reason: str = ""
    start_commit: str = ""
    end_commit: str = ""


def begin(connection: Connection, key: str, role: str, agent_type: str, now: float) -> Run:
    """The run that was interrupted, to go on with; else a new one."""
    interrupted = unfinished(connection, key)
    if interrupted:
        return interrupted
    run = Run(id=os.urandom(8).hex(), key=key, role=role, agent_type=agent_type, started_at=now)
    connection.execute(insert(runs).values(msgspec.structs.asdict(run)))
    return run


def unfinished(connection: Connection, key: str) -> Run | None:
    """The run of a session that has not come to an outcome."""
    row = connection.execute(
        select(runs).where(runs.c.key == key, runs.c.outcome == "").order_by(runs.c.started_at.desc())
    ).first()
    return Run(**row._mapping) if row else None


def last(connection: Connection, key: str) -> Run | None:
    """The newest of a session, whether it runs or not."""
    row = connection.execute(
        select(runs).where(runs.c.key == key).order_by(runs.c.started_at.desc()).limit(1)
    ).first()
    return Run(**row._mapping) if row else None


def get(connection: Connection, run_id: str) -> Run:
    return Run(**connection.execute(select(runs).where(runs.c.id == run_id)).one()._mapping)


def note(connection: Connection, run_id: str, *, running_seconds: float, turns: int) -> None:
    """How far it has come, so that a restart counts on from there."""
    connection.execute(
        update(runs).where(runs.c.id == run_id).values(running_seconds=running_seconds, turns=turns)
    )


def started_at(connection: Connection, run_id: str, commit: str) -> None:
    """The commit that it began with; the first one that is noted stays."""
    connection.execute(
        update(runs).where(runs.c.id == run_id, runs.c.start_commit == "").values(start_commit=commit)
    )


def end(
    connection: Connection, run_id: str, outcome: str, reason: str, now: float, *, end_commit: str = ""
) -> None:
    """
    `outcome`: the state that the session came to, or "cancelled".
    """
    connection.execute(
        update(runs)
        .where(runs.c.id == run_id, runs.c.outcome == "")
        .values(outcome=outcome, reason=reason, ended_at=now, end_commit=end_commit)
    )


def starts_around(connection: Connection, key: str, now: float, seconds: float) -> list[float]:
    """When the session's runs of the last so many seconds began, oldest first; also of the next ones, for a clock
    may have been set back. What is further ahead than that would hold the session up for too long.
    """
    rows = connection.execute(
        select(runs.c.started_at)
        .where(runs.c.key == key, runs.c.started_at.between(now - seconds, now + seconds))
        .order_by(runs.c.started_at)
    )
    return [row.started_at for row in rows]


def of(connection: Connection, key: str) -> list[Run]:
    """All of a session, oldest first."""
    rows = connection.execute(select(runs).where(runs.c.key == key).order_by(runs.c.started_at))
    return [Run(**row._mapping) for row in rows]
