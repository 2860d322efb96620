"""Sessions that would not go on by themselves."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, func, select, update

from fordjent.store.schema import inputs, messages, sessions, tool_calls
from fordjent.store.sessions import Session

SILENT = "no sign of progress beyond its time limit"


def let_run(connection: Connection, repository: str, numbers: Collection[int], now: float) -> list[str]:
    """Let those run again that were told something which no run was given: nobody stopped them, and what
    they are about is open. Their keys."""
    untold = select(inputs.c.id).where(inputs.c.key == sessions.c.key, inputs.c.run == "")
    rows = connection.execute(
        select(sessions.c.key, sessions.c.number).where(
            sessions.c.repository == repository,
            sessions.c.ready_at.is_(None),
            sessions.c.cancel == "",
            sessions.c.state != "working",
            sessions.c.lease_until <= now,
            untold.exists(),
        )
    )
    found = [row.key for row in rows if row.number in numbers]
    for key in found:
        connection.execute(
            update(sessions).where(sessions.c.key == key).values(ready_at=now, first_input_at=now)
        )
    return found


def tell_to_stop(connection: Connection, repository: str, now: float, before: float) -> list[str]:
    """Runs whose lease is kept, and of which nothing was written since `before`. Their keys."""
    rows = connection.execute(
        select(sessions.c.key, sessions.c.changed_at).where(
            sessions.c.repository == repository,
            sessions.c.state == "working",
            sessions.c.lease_until > now,
            sessions.c.cancel == "",
            sessions.c.changed_at < before,
        )
    )
    silent = [row.key for row in rows if _last_sign(connection, row.key) < before]
    for key in silent:
        connection.execute(update(sessions).where(sessions.c.key == key).values(cancel=SILENT))
    return silent


def idle(connection: Connection, repository: str, now: float) -> list[Session]:
    """Those that nobody works on, and that are not about to be."""
    rows = connection.execute(
        select(sessions).where(
            sessions.c.repository == repository,
            sessions.c.lease_until <= now,
            sessions.c.ready_at.is_(None),
            sessions.c.state.not_in(("created", "working")),
        )
    )
    return [Session(**row._mapping) for row in rows]


def _last_sign(connection: Connection, key: str) -> float:
    told = connection.execute(select(func.max(messages.c.at)).where(messages.c.key == key)).scalar()
    began = connection.execute(
        select(func.max(tool_calls.c.begun_at)).where(tool_calls.c.key == key)
    ).scalar()
    return max(told or 0.0, began or 0.0)
