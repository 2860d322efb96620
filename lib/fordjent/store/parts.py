"""What issues are made of: those whose text names another as their parent, as they were last seen."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, select

from fordjent.store.schema import issues


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """An issue that was open when it was last seen, and its parts, none of which was."""

    number: int
    parts: tuple[int, ...]


def done(connection: Connection, repository: str) -> list[Whole]:
    """The wholes of a repository that seem to be done."""
    of_here = issues.c.repository == repository
    rows = connection.execute(
        select(issues.c.number, issues.c.parent, issues.c.state)
        .where(of_here, issues.c.parent > 0, issues.c.is_pull.is_(False))
        .order_by(issues.c.number)
    )
    parts: dict[int, list[int]] = {}
    unfinished: set[int] = set()
    for row in rows:
        parts.setdefault(row.parent, []).append(row.number)
        if row.state == "open":
            unfinished.add(row.parent)
    chosen = [parent for parent in parts if parent not in unfinished]
    still_open = connection.execute(
        select(issues.c.number).where(of_here, issues.c.number.in_(chosen), issues.c.state == "open")
    )
    return [Whole(number=row.number, parts=tuple(parts[row.number])) for row in still_open]


def repositories(connection: Connection) -> list[str]:
    """Where any whole seems to be done."""
    rows = connection.execute(select(issues.c.repository).where(issues.c.parent > 0).distinct())
    return sorted(row.repository for row in rows if done(connection, row.repository))
