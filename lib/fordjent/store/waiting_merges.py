"""Rows of `waiting_merges`: pull requests that are not opened yet, since others change the same files."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, delete, insert, select

from fordjent.store.schema import waiting_merges


class WaitingMerge(msgspec.Struct, frozen=True, kw_only=True):
    """`waits_for`: numbers of open pull requests. `since`: the first time that it had to wait."""

    key: str
    repository: str
    head: str
    base: str
    title: str
    body: str
    waits_for: list[int]
    since: float


def put(connection: Connection, waiting: WaitingMerge) -> None:
    """Note that a session's pull request waits; since when stays as it was."""
    known = of_key(connection, waiting.key)
    drop(connection, waiting.key)
    row = msgspec.structs.asdict(waiting)
    row["waits_for"] = msgspec.json.encode(waiting.waits_for).decode()
    row["since"] = known.since if known else waiting.since
    connection.execute(insert(waiting_merges).values(row))


def drop(connection: Connection, key: str) -> None:
    """It does not wait any more. Repeatable."""
    connection.execute(delete(waiting_merges).where(waiting_merges.c.key == key))


def of_key(connection: Connection, key: str) -> WaitingMerge | None:
    row = connection.execute(select(waiting_merges).where(waiting_merges.c.key == key)).first()
    return _read(row._mapping) if row else None


def of_repository(connection: Connection, repository: str) -> list[WaitingMerge]:
    """Those of a repository, longest waiting first."""
    rows = connection.execute(
        select(waiting_merges)
        .where(waiting_merges.c.repository == repository)
        .order_by(waiting_merges.c.since, waiting_merges.c.key)
    )
    return [_read(row._mapping) for row in rows]


def repositories(connection: Connection) -> list[str]:
    """Where any waits."""
    rows = connection.execute(select(waiting_merges.c.repository).distinct())
    return sorted(row.repository for row in rows)


def _read(row: object) -> WaitingMerge:
    values = dict(row)  # type: ignore[call-overload]
    values["waits_for"] = msgspec.json.decode(values["waits_for"], type=list[int])
    return WaitingMerge(**values)
