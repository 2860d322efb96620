"""Whether a session may start a run now, and what becomes of one that cannot go on."""

from __future__ import annotations

import time

from sqlalchemy import Connection

from fordjent.context import Context
from fordjent.scheduling import retries
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


async def give_up(context: Context, key: str, reason: str, *, lasting: bool = True) -> None:
    """Leave a session as failed; it runs again by itself only where that could help, and not for ever.

    `lasting`: a person has to mend something first.
    """

    def write(connection: Connection, now: float) -> None:
        session = sessions.get(connection, key)
        run = runs.unfinished(connection, key)
        if session is None:
            return
        retry = retries.after(context.config.sessions, "error", session.failures, now, lasting=lasting)
        said = f"{reason}. {retry}" if retry else reason
        if session.state == "working":
            transitions.change(connection, key, "failed", said, now, "error")
        sessions.note(connection, key, ready_at=None, failures=session.failures + 1)
        if run:
            runs.end(connection, run.id, "failed", said, now)
            if retry:
                retries.plan(connection, key, run.id, reason, retry, now)

    await context.database.write(write, time.time())
