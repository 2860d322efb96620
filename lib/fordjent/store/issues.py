"""Issues and pull requests as they were last seen."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, Row, and_, bindparam, func, insert, select, update

from fordjent.store.schema import issues


class KnownIssue(msgspec.Struct, frozen=True, kw_only=True):
    """`state`: open, closed or merged. `seen_at`: seconds since 1970.

    `head`: a pull request's branch; `head_commit`: where it was when an event last told of that.
    """

    repository: str
    number: int
    is_pull: bool
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    state: str = "open"
    title: str = ""
    author: str = ""
    parent: int = 0
    head: str = ""
    head_commit: str = ""
    seen_at: float = 0.0


def get(connection: Connection, repository: str, number: int) -> KnownIssue | None:
    row = connection.execute(_GET, {"of_repository": repository, "of_number": number}).first()
    return of_row(row) if row else None


def of_row(row: Row[Any]) -> KnownIssue:
    """A whole row of the table."""
    lists = {name: msgspec.json.decode(getattr(row, name)) for name in _LISTS}
    values = {str(name): value for name, value in row._mapping.items()}  # SQLAlchemy's own kind of str
    return msgspec.convert({**values, **lists}, KnownIssue)


def remember(connection: Connection, issue: KnownIssue) -> None:
    """As it is now. What is not known of it (`head`, `head_commit` empty) stays as it was."""
    row = msgspec.structs.asdict(issue)
    for name in _LISTS:
        row[name] = msgspec.json.encode(row[name]).decode()
    this = {"of_repository": issue.repository, "of_number": issue.number}
    if not connection.execute(_CHANGE, {**row, **this}).rowcount:
        connection.execute(_ADD, row)


_LISTS = ("labels", "assignees")
_THIS = and_(issues.c.repository == bindparam("of_repository"), issues.c.number == bindparam("of_number"))
_GET = select(issues).where(_THIS)
_ADD = insert(issues)
_CHANGE = (
    update(issues)
    .where(_THIS)
    .values(
        {name: bindparam(name) for name in KnownIssue.__struct_fields__}
        | {
            name: func.coalesce(func.nullif(bindparam(name), ""), issues.c[name])
            for name in ("head", "head_commit")
        }
    )
)
