"""Repositories that events came from."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, insert, select, update

from fordjent.store.schema import repositories


def seen(connection: Connection, name: str, default_branch: str, now: float) -> None:
    """An event came from it: the first one is when it was set up, unless that was earlier."""
    found = connection.execute(
        select(repositories.c.default_branch).where(repositories.c.name == name)
    ).first()
    if found is None:
        row = {"name": name, "default_branch": default_branch, "set_up_at": now}
        connection.execute(insert(repositories).values(row))
    elif default_branch and found.default_branch != default_branch:
        connection.execute(
            update(repositories).where(repositories.c.name == name).values(default_branch=default_branch)
        )


def has_commits(connection: Connection, name: str) -> bool:
    """False: it was never seen that it has any."""
    return bool(
        connection.execute(select(repositories.c.has_commits).where(repositories.c.name == name)).scalar()
    )


def note_commits(connection: Connection, name: str, default_branch: str, now: float) -> None:
    """The forge says that it is not empty: it will not be again."""
    seen(connection, name, default_branch, now)
    connection.execute(update(repositories).where(repositories.c.name == name).values(has_commits=True))


def default_branch(connection: Connection, name: str) -> str:
    """ "": not known yet."""
    return connection.execute(_DEFAULT_BRANCH, {"of_name": name}).scalar() or ""


_DEFAULT_BRANCH = select(repositories.c.default_branch).where(repositories.c.name == bindparam("of_name"))
