"""Rows of `transitions`: each change of a session's state, with its reason."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, insert, select, update

from fordjent.sessions import states
from fordjent.sessions.states import State, Why
from fordjent.store.schema import sessions, transitions


class Transition(msgspec.Struct, frozen=True):
    id: int
    key: str
    from_state: str
    to_state: str
    reason: str
    at: float


def change(connection: Connection, key: str, to: State, reason: str, now: float, why: Why = "") -> bool:
    """Bring a session to a state and write down why; False when it was there already, for that reason.

    Raises:
        ImpossibleChange: it cannot become that.
    """
    found = connection.execute(
        select(sessions.c.state, sessions.c.reason, sessions.c.failure).where(sessions.c.key == key)
    ).one()
    if (found.state, found.failure) == (to, why):
        if found.reason != reason:
            connection.execute(update(sessions).where(sessions.c.key == key).values(reason=reason))
        return False
    states.check(found.state, to, why)
    connection.execute(
        update(sessions)
        .where(sessions.c.key == key)
        .values(state=to, failure=why, reason=reason, changed_at=now)
    )
    row = {"key": key, "from_state": found.state, "to_state": to, "reason": reason, "at": now}
    connection.execute(insert(transitions).values(row))
    return True


def of(connection: Connection, key: str) -> list[Transition]:
    """All of a session, in order."""
    rows = connection.execute(select(transitions).where(transitions.c.key == key).order_by(transitions.c.id))
    return [Transition(**row._mapping) for row in rows]
