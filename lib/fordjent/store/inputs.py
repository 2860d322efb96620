"""What sessions are told, each thing once, and when what waits may start a run."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    func,
    insert,
    or_,
    select,
    update,
)

from fordjent.deciding.actions import Input
from fordjent.session_key import SessionKey
from fordjent.store.schema import inputs, sessions, transitions

LONGEST_QUIET = 5
"""A burst is waited out for at most so many quiet times."""


def feed(
    connection: Connection,
    key: str,
    role: str,
    told: Input,
    event_id: int | None,
    now: float,
    coalesce_seconds: float,
    *,
    by_person: bool = True,
    branch: str = "",
    base: str = "",
    pull: int = 0,
    not_before: float = 0.0,
) -> bool:
    """Give a session an input, and let it run when it is quiet; the session is made where there is none.

    False: the session knows it already, and nothing is changed. A person's word makes it begin
    anew: failures count from here, and it is not cancelled any more.
    """
    there = connection.execute(_SESSION, {"of_key": key}).first()
    if there is None:
        _make(connection, key, role, now)
    elif connection.execute(_KNOWN, {"of_key": key, "of_source": told.source}).first():
        return False
    row = {
        "key": key,
        "event": event_id,
        "kind": told.kind,
        "source": told.source,
        "author": told.author,
        "content": told.text,
        "at": told.at or now,
    }
    connection.execute(_INPUT, row)
    first = now if there is None or there.first_input_at is None else there.first_input_at
    quiet_at = min(now + coalesce_seconds, first + LONGEST_QUIET * coalesce_seconds)
    facts = {
        "of_key": key,
        "ready": max(quiet_at, not_before),
        "first": first,
        "role": role,
        "by_person": by_person,
        "branch": branch,
        "base": base,
        "pull": pull,
    }
    connection.execute(_LET_RUN, facts)
    return True


def waiting(connection: Connection, key: str) -> list[Input]:
    """What no run was given yet, in order."""
    return _read(connection, inputs.c.key == key, inputs.c.run == "")


def of_run(connection: Connection, key: str, run: str) -> list[Input]:
    """What a run was given, in order."""
    return _read(connection, inputs.c.key == key, inputs.c.run == run)


def take(connection: Connection, key: str, run: str) -> list[Input]:
    """Give a run what waits: after that nothing does."""
    taken = waiting(connection, key)
    connection.execute(update(inputs).where(inputs.c.key == key, inputs.c.run == "").values(run=run))
    close(connection, key)
    return taken


def sources(connection: Connection, key: str, prefix: str) -> set[str]:
    """Where what the session was ever told stands, of those that begin with `prefix`."""
    rows = connection.execute(
        select(inputs.c.source).where(
            inputs.c.key == key, inputs.c.source.startswith(prefix, autoescape=True)
        )
    )
    return {row.source for row in rows}


def close(connection: Connection, key: str) -> None:
    """What waits for the session starts no run; the next input does, and brings it along."""
    connection.execute(
        update(sessions).where(sessions.c.key == key).values(ready_at=None, first_input_at=None)
    )


def cancel(connection: Connection, key: str, reason: str) -> bool:
    """Stop the session's run, and start none for what waits; False: nothing ran."""
    close(connection, key)
    runs = or_(sessions.c.lease_owner != "", sessions.c.state == "working")
    told = connection.execute(update(sessions).where(sessions.c.key == key, runs).values(cancel=reason))
    return bool(told.rowcount)


# statements are built once: a flood of deliveries runs each of them for every event

_SESSION = select(sessions.c.first_input_at).where(sessions.c.key == bindparam("of_key"))
_KNOWN = select(inputs.c.id).where(
    inputs.c.key == bindparam("of_key"), inputs.c.source == bindparam("of_source")
)
_INPUT = insert(inputs)
_LET_RUN = (
    update(sessions)
    .where(sessions.c.key == bindparam("of_key"))
    .values(
        ready_at=bindparam("ready"),
        first_input_at=bindparam("first"),
        role=bindparam("role"),
        cancel="",
        failures=case((bindparam("by_person", type_=Boolean), 0), else_=sessions.c.failures),
        branch=func.coalesce(func.nullif(bindparam("branch"), ""), sessions.c.branch),
        base=func.coalesce(func.nullif(bindparam("base"), ""), sessions.c.base),
        pull=func.coalesce(func.nullif(bindparam("pull"), 0), sessions.c.pull),
    )
)


def _make(connection: Connection, key: str, role: str, now: float) -> None:
    about = SessionKey.parse(key)
    row = {
        "key": key,
        "repository": about.repository,
        "kind": about.kind,
        "number": about.number,
        "role": role,
        "created_at": now,
        "changed_at": now,
    }
    connection.execute(insert(sessions), row)
    begun = {"key": key, "from_state": "", "to_state": "created", "reason": "first input", "at": now}
    connection.execute(insert(transitions), begun)


def _read(connection: Connection, *conditions: ColumnElement[bool]) -> list[Input]:
    chosen: Select[tuple[str, str, str, str, float]] = select(
        inputs.c.kind, inputs.c.source, inputs.c.author, inputs.c.content, inputs.c.at
    )
    rows = connection.execute(chosen.where(*conditions).order_by(inputs.c.id))
    return [
        Input(kind=row.kind, source=row.source, author=row.author, text=row.content, at=row.at)
        for row in rows
    ]
