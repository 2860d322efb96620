"""The one row of `pauses`: while it is there, no session is begun."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, delete, insert, select

from fordjent.store.schema import pauses


class Pause(msgspec.Struct, frozen=True):
    """`since`: seconds since 1970. `interrupts`: what runs is broken off too, and goes on after the pause."""

    since: float
    reason: str
    interrupts: bool


def begin(connection: Connection, reason: str, interrupts: bool, now: float) -> None:
    """Pause, or change how; a pause that is there already goes on since when it was begun."""
    found = current(connection)
    end(connection)
    since = found.since if found else now
    connection.execute(insert(pauses).values(id=1, since=since, reason=reason, interrupts=interrupts))


def end(connection: Connection) -> bool:
    """False: there was none."""
    return bool(connection.execute(delete(pauses)).rowcount)


def current(connection: Connection) -> Pause | None:
    row = connection.execute(select(pauses.c.since, pauses.c.reason, pauses.c.interrupts)).first()
    return Pause(*row) if row else None
