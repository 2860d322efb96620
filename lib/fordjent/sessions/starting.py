"""Whether a session may start a run now, and what becomes of one that cannot go on."""

from __future__ import annotations

import time

from sqlalchemy import Connection

from fordjent.context import Context
from fordjent.store import runs, sessions, transitions
from fordjent.store.sessions import Session

HOUR = 3600.0


async def held_until(context: Context, session: Session) -> float:
    """When the session may run again, where it ran too often within an hour; 0: now.

    What was interrupted goes on: it has been counted.
    """
    now = time.time()
    limit = context.config.sessions.max_runs_per_hour
    starts = await context.database.read(runs.starts_around, session.key, now, HOUR)
    interrupted = await context.database.read(runs.unfinished, session.key)
    if len(starts) < limit or interrupted is not None:
        return 0.0
    until = starts[-limit] + HOUR
    context.log.warning("session.held", session=session.key, runs=len(starts), until=until)
    return until


async def give_up(context: Context, key: str, reason: str) -> None:
    """Leave a session as failed, so that it does not run again by itself."""

    def write(connection: Connection, now: float) -> None:
        session = sessions.get(connection, key)
        if session and session.state == "working":
            transitions.change(connection, key, "failed", reason, now, "error")
        run = runs.unfinished(connection, key)
        if run:
            runs.end(connection, run.id, "failed", reason, now)
        sessions.note(connection, key, ready_at=None)

    await context.database.write(write, time.time())
