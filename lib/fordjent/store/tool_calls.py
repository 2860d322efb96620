"""The rows of `tool_calls`: what the model had done, redacted and cut."""

from __future__ import annotations

from itertools import takewhile
from typing import Literal

import msgspec
from sqlalchemy import Connection, func, insert, select, update

from fordjent.store.schema import sessions, tool_calls

State = Literal["begun", "done", "failed", "interrupted"]


class Done(msgspec.Struct, frozen=True):
    """A call that is over, or was interrupted. Times in seconds since 1970."""

    id: int
    run: str
    turn: int
    name: str
    arguments: str
    state: str
    result: str
    begun_at: float
    ended_at: float | None


def begin(
    connection: Connection, *, key: str, run: str, turn: int, call: str, name: str, arguments: str, now: float
) -> int | None:
    """Note a call that is about to be done; its row, None where the key has no session (a person's use)."""
    if connection.execute(select(sessions.c.key).where(sessions.c.key == key)).first() is None:
        return None
    noted = connection.execute(
        insert(tool_calls).values(
            key=key, run=run, turn=turn, call=call, name=name, arguments=arguments, begun_at=now
        )
    )
    return int(noted.inserted_primary_key[0]) if noted.inserted_primary_key else None


def end(connection: Connection, row: int, state: State, result: str, now: float) -> None:
    connection.execute(
        update(tool_calls).where(tool_calls.c.id == row).values(state=state, result=result, ended_at=now)
    )


def interrupt(connection: Connection, key: str, now: float) -> int:
    """Mark what a process that is gone has begun and not ended; how many that were."""
    unfinished = (tool_calls.c.key == key) & (tool_calls.c.state == "begun")
    return connection.execute(
        update(tool_calls).where(unfinished).values(state="interrupted", ended_at=now)
    ).rowcount


def run_of(connection: Connection, key: str, call: str) -> str:
    """The run in which a call was last begun; "": in none."""
    found = connection.execute(
        select(tool_calls.c.run)
        .where(tool_calls.c.key == key, tool_calls.c.call == call)
        .order_by(tool_calls.c.id.desc())
        .limit(1)
    ).scalar()
    return found or ""


def ended(connection: Connection, key: str, after: int, limit: int) -> list[Done]:
    """The calls of a session after that row which are over, in order, up to the first that is not."""
    rows = connection.execute(
        select(*_DONE)
        .where(tool_calls.c.key == key, tool_calls.c.id > after)
        .order_by(tool_calls.c.id)
        .limit(limit)
    )
    return list(takewhile(lambda call: call.state != "begun", (Done(*row) for row in rows)))


def newest(connection: Connection, key: str, limit: int) -> list[Done]:
    """The last calls of a session, in order."""
    rows = connection.execute(
        select(*_DONE).where(tool_calls.c.key == key).order_by(tool_calls.c.id.desc()).limit(limit)
    )
    return [Done(*row) for row in reversed(rows.all())]


def last_id(connection: Connection, key: str) -> int:
    """The row of the last call of a session; 0: there is none."""
    return connection.execute(select(func.max(tool_calls.c.id)).where(tool_calls.c.key == key)).scalar() or 0


def count(connection: Connection, key: str, run: str, name: str) -> int:
    """How often a tool was used with success in a run."""
    done = (tool_calls.c.key == key) & (tool_calls.c.run == run) & (tool_calls.c.name == name)
    return connection.execute(
        select(func.count()).select_from(tool_calls).where(done & (tool_calls.c.state == "done"))
    ).scalar_one()


_DONE = [tool_calls.c[name] for name in Done.__struct_fields__]
