"""Rows of `waiting_issues`: issues whose session does not begin yet, since others come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, func, insert, select, update

from fordjent.deciding.actions import Input
from fordjent.session_key import SessionKey
from fordjent.store.schema import waiting_issues


class WaitingIssue(msgspec.Struct, frozen=True, kw_only=True):
    """`input`: what its session will be told first. `labelled`: we set `blocked` on it."""

    key: str
    repository: str
    number: int
    role: str
    by_person: bool
    input: Input
    labelled: bool
    waits_for: tuple[int, ...]
    since: float


def put(connection: Connection, key: str, role: str, told: Input, now: float, *, by_person: bool) -> None:
    """Let it wait. One that waits already goes on with the role that it has now; what it is told first stays."""
    known = connection.execute(update(waiting_issues).where(waiting_issues.c.key == key).values(role=role))
    if known.rowcount:
        return
    about = SessionKey.parse(key)
    row = {
        "key": key,
        "repository": about.repository,
        "number": about.number,
        "role": role,
        "by_person": by_person,
        "input": msgspec.json.encode(told).decode(),
        "since": now,
    }
    connection.execute(insert(waiting_issues).values(row))


def of_key(connection: Connection, key: str) -> WaitingIssue | None:
    row = connection.execute(select(waiting_issues).where(waiting_issues.c.key == key)).first()
    return _read(row) if row else None


def of_repository(connection: Connection, repository: str) -> list[WaitingIssue]:
    """Lowest number first."""
    rows = connection.execute(
        select(waiting_issues)
        .where(waiting_issues.c.repository == repository)
        .order_by(waiting_issues.c.number)
    )
    return [_read(row) for row in rows]


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(waiting_issues)).scalar() or 0


def oldest(connection: Connection, limit: int) -> list[WaitingIssue]:
    """Of all repositories, those that have waited longest first."""
    rows = connection.execute(
        select(waiting_issues).order_by(waiting_issues.c.since, waiting_issues.c.key).limit(limit)
    )
    return [_read(row) for row in rows]


def repositories(connection: Connection) -> list[str]:
    """Where any waits."""
    rows = connection.execute(select(waiting_issues.c.repository).distinct())
    return sorted(row.repository for row in rows)


def note(connection: Connection, key: str, waits_for: Sequence[int], labelled: bool) -> None:
    """What was found and done when it was looked at."""
    shown = msgspec.json.encode(list(waits_for)).decode()
    connection.execute(
        update(waiting_issues).where(waiting_issues.c.key == key).values(waits_for=shown, labelled=labelled)
    )


def drop(connection: Connection, key: str) -> bool:
    """It does not wait any more; False: nor did it."""
    return bool(connection.execute(delete(waiting_issues).where(waiting_issues.c.key == key)).rowcount)


def _read(row: Row[Any]) -> WaitingIssue:
    values = {str(name): value for name, value in row._mapping.items()}
    values["input"] = msgspec.json.decode(values["input"], type=Input)
    values["waits_for"] = msgspec.json.decode(values["waits_for"], type=tuple[int, ...])
    return WaitingIssue(**values)
