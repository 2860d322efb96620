"""What sessions are told, each thing once, and when what waits may start a run."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Select, insert, or_, select, update

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
    _make(connection, key, role, now)
    known = select(inputs.c.id).where(inputs.c.key == key, inputs.c.source == told.source)
    if connection.execute(known).first():
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
    connection.execute(insert(inputs).values(row))
    _let_run(connection, key, now, coalesce_seconds, not_before)
    facts: dict[str, str | int] = {"role": role, "cancel": ""}
    facts |= {"failures": 0} if by_person else {}
    facts |= {name: value for name, value in (("branch", branch), ("base", base), ("pull", pull)) if value}
    connection.execute(update(sessions).where(sessions.c.key == key).values(facts))
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


def _make(connection: Connection, key: str, role: str, now: float) -> None:
    if connection.execute(select(sessions.c.key).where(sessions.c.key == key)).first():
        return
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
    connection.execute(insert(sessions).values(row))
    begun = {"key": key, "from_state": "", "to_state": "created", "reason": "first input", "at": now}
    connection.execute(insert(transitions).values(begun))


def _let_run(connection: Connection, key: str, now: float, quiet_seconds: float, not_before: float) -> None:
    first = connection.execute(select(sessions.c.first_input_at).where(sessions.c.key == key)).scalar()
    first = now if first is None else first
    quiet_at = min(now + quiet_seconds, first + LONGEST_QUIET * quiet_seconds)
    connection.execute(
        update(sessions)
        .where(sessions.c.key == key)
        .values(ready_at=max(quiet_at, not_before), first_input_at=first)
    )


def _read(connection: Connection, *conditions: ColumnElement[bool]) -> list[Input]:
    chosen: Select[tuple[str, str, str, str, float]] = select(
        inputs.c.kind, inputs.c.source, inputs.c.author, inputs.c.content, inputs.c.at
    )
    rows = connection.execute(chosen.where(*conditions).order_by(inputs.c.id))
    return [
        Input(kind=row.kind, source=row.source, author=row.author, text=row.content, at=row.at)
        for row in rows
    ]
