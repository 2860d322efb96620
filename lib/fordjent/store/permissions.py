"""What people may do in repositories, as the forge last said."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from fordjent.store.schema import permissions


def get(connection: Connection, repository: str, login: str, asked_since: float) -> tuple[str, float] | None:
    """owner, admin, write, read or none, and when that was asked; None: not since then."""
    row = connection.execute(
        select(permissions.c.permission, permissions.c.asked_at).where(
            permissions.c.repository == repository,
            permissions.c.login == login.casefold(),
            permissions.c.asked_at >= asked_since,
        )
    ).first()
    return (row.permission, row.asked_at) if row else None


def put(connection: Connection, repository: str, login: str, permission: str, now: float) -> None:
    row = {"repository": repository, "login": login.casefold(), "permission": permission, "asked_at": now}
    connection.execute(
        delete(permissions).where(permissions.c.repository == repository, permissions.c.login == row["login"])
    )
    connection.execute(insert(permissions).values(row))
