"""What is only counted."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from fordjent.store.schema import counters

REJECTED = "deliveries.rejected"
"""With a dot and the status that was answered after it."""
MISSED = "reconcile.missed"
"""What webhooks did not tell of and the reconcile found."""
PRUNED_EVENTS = "events.pruned"
"""Our own old events, whose rows are gone: with them a total does not fall."""
TOOL_CALLS = "tool_calls"
"""Kept by the database itself (migration 0002)."""


def add(connection: Connection, name: str, amount: int) -> None:
    counted = counters.c.name == name
    changed = connection.execute(update(counters).where(counted).values(value=counters.c.value + amount))
    if not changed.rowcount:
        connection.execute(insert(counters).values(name=name, value=amount))


def value(connection: Connection, name: str) -> int:
    return connection.execute(select(counters.c.value).where(counters.c.name == name)).scalar() or 0


def of(connection: Connection, prefix: str) -> dict[str, int]:
    """All that begin with `prefix`, by the rest of their names."""
    begins = counters.c.name.startswith(prefix, autoescape=True)
    rows = connection.execute(
        select(counters.c.name, counters.c.value).where(begins).order_by(counters.c.name)
    )
    return {name.removeprefix(prefix): count for name, count in rows}
