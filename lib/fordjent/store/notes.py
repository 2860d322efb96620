"""The rows of `notes`: what an agent wants the next run on the key to know."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, delete, insert, select

from fordjent.store.schema import notes

KEPT = 50
"""Notes of one key; older ones go."""


class Note(msgspec.Struct, frozen=True):
    """`at`: seconds since 1970."""

    text: str
    role: str
    at: float


def add(connection: Connection, key: str, run: str, role: str, text: str, now: float) -> bool:
    """Keep a note; False when the key has the same one already."""
    if connection.execute(select(notes.c.id).where(notes.c.key == key, notes.c.text == text)).first():
        return False
    connection.execute(insert(notes).values(key=key, run=run, role=role, text=text, at=now))
    newest = select(notes.c.id).where(notes.c.key == key).order_by(notes.c.id.desc()).limit(KEPT)
    connection.execute(delete(notes).where(notes.c.key == key, notes.c.id.not_in(newest)))
    return True


def of_key(connection: Connection, key: str) -> list[Note]:
    """All of a key, oldest first."""
    found = connection.execute(
        select(notes.c.text, notes.c.role, notes.c.at).where(notes.c.key == key).order_by(notes.c.id)
    )
    return [Note(*row) for row in found]
