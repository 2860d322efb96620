"""Issues and pull requests as they were last seen."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, insert, select, update

from fordjent.store.schema import issues


class KnownIssue(msgspec.Struct, frozen=True, kw_only=True):
    """`state`: open, closed or merged. `head`: a pull request's branch. `seen_at`: seconds since 1970."""

    repository: str
    number: int
    is_pull: bool
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    state: str = "open"
    title: str = ""
    author: str = ""
    head: str = ""
    head_commit: str = ""
    seen_at: float = 0.0


def get(connection: Connection, repository: str, number: int) -> KnownIssue | None:
    row = connection.execute(
        select(issues).where(issues.c.repository == repository, issues.c.number == number)
    ).first()
    if row is None:
        return None
    lists = {name: msgspec.json.decode(getattr(row, name)) for name in ("labels", "assignees")}
    values = {str(name): value for name, value in row._mapping.items()}  # SQLAlchemy's own kind of str
    return msgspec.convert({**values, **lists}, KnownIssue)


def remember(connection: Connection, issue: KnownIssue) -> None:
    """As it is now. What is not known of it (`head`, `head_commit` empty) stays as it was."""
    row = msgspec.structs.asdict(issue)
    for name in ("labels", "assignees"):
        row[name] = msgspec.json.encode(row[name]).decode()
    known = {name: value for name, value in row.items() if value != "" or name not in ("head", "head_commit")}
    this = (issues.c.repository == issue.repository) & (issues.c.number == issue.number)
    if not connection.execute(update(issues).where(this).values(known)).rowcount:
        connection.execute(insert(issues).values(row))
