"""What was done to the world outside: begun before, done after, so that a crash in between is seen."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, Row, insert, select, update

from fordjent.store.schema import effects


class Effect(msgspec.Struct, frozen=True):
    """`result`: JSON of what came of it, once it is done."""

    id: str
    key: str
    kind: str
    is_done: bool
    begun_at: float
    result: str
    is_new: bool
    """Nobody has begun it before."""


def begin(connection: Connection, effect_id: str, key: str, kind: str, now: float) -> Effect:
    """Note that it is about to be done, unless that is noted already."""
    known = get(connection, effect_id)
    if known:
        return known
    connection.execute(
        insert(effects).values(id=effect_id, key=key, kind=kind, state="begun", begun_at=now, result="")
    )
    return Effect(effect_id, key, kind, False, now, "", True)


def finish(connection: Connection, effect_id: str, result: str) -> None:
    """Note that it is done, and what came of it. Repeatable."""
    connection.execute(update(effects).where(effects.c.id == effect_id).values(state="done", result=result))


def get(connection: Connection, effect_id: str) -> Effect | None:
    row = connection.execute(select(effects).where(effects.c.id == effect_id)).one_or_none()
    return _read(row) if row else None


def of_key(connection: Connection, key: str) -> list[Effect]:
    """Those of a session, oldest first."""
    rows = connection.execute(select(effects).where(effects.c.key == key).order_by(effects.c.begun_at))
    return [_read(row) for row in rows]


def _read(row: Row[Any]) -> Effect:
    return Effect(row.id, row.key, row.kind, row.state == "done", row.begun_at, row.result, False)
