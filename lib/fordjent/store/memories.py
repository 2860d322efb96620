"""What the memory of sessions is made of, across tables."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, or_, select

from fordjent.store.schema import model_calls, sessions


class Spent(msgspec.Struct, frozen=True):
    """`model`: the one that answered most; "": none did."""

    model: str = ""
    cost_microdollars: int = 0


def spent(connection: Connection, run: str) -> Spent:
    """What a run has cost until now, and whom it asked."""
    rows = connection.execute(
        select(model_calls.c.model, func.sum(model_calls.c.cost_microdollars))
        .where(model_calls.c.run == run, model_calls.c.state != "reserved")
        .group_by(model_calls.c.model)
        .order_by(func.count().desc(), model_calls.c.model)
    ).all()
    return Spent(rows[0][0], sum(cost for _, cost in rows)) if rows else Spent()


def changed_since(connection: Connection, since: float) -> list[str]:
    """Keys of the sessions that work, or did after that."""
    rows = connection.execute(
        select(sessions.c.key)
        .where(or_(sessions.c.state == "working", sessions.c.changed_at >= since))
        .order_by(sessions.c.key)
    )
    return [row.key for row in rows]
