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


def default_branch(connection: Connection, name: str) -> str:
    """ "": not known yet."""
    return connection.execute(_DEFAULT_BRANCH, {"of_name": name}).scalar() or ""


_DEFAULT_BRANCH = select(repositories.c.default_branch).where(repositories.c.name == bindparam("of_name"))
