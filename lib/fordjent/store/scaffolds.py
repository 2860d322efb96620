"""Rows of `scaffolds`: which issue may make the first commit of a repository that was empty."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from fordjent.store.schema import scaffolds


def claim(connection: Connection, repository: str, number: int, now: float) -> int:
    """The issue that it is: this one, unless there was another before."""
    known = of_repository(connection, repository)
    if not known:
        connection.execute(insert(scaffolds).values(repository=repository, number=number, since=now))
    return known or number


def of_repository(connection: Connection, repository: str) -> int:
    """Its number; 0: there is none."""
    return (
        connection.execute(select(scaffolds.c.number).where(scaffolds.c.repository == repository)).scalar()
        or 0
    )
