"""Rows of `messages`: a session's conversation. Nothing is ever deleted: what the model is no longer sent
is marked as dropped, and what it is sent in a shorter form stands beside the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import Connection, func, insert, select, update

from fordjent.models.messages import Message
from fordjent.store.schema import messages


class Stored(msgspec.Struct, frozen=True):
    """One message in its place. `dropped`: the model is not sent it any more."""

    seq: int
    run: str
    turn: int
    message: Message
    at: float
    dropped: bool = False


def append(connection: Connection, key: str, run: str, turn: int, new: Sequence[Message], now: float) -> None:
    """Put messages at the end, all in this transaction."""
    first = last_seq(connection, key) + 1
    values = [
        {
            "key": key,
            "seq": seq,
            "run": run,
            "turn": turn,
            "message": msgspec.json.encode(message).decode(),
            "at": now,
        }
        for seq, message in enumerate(new, first)
    ]
    if values:
        connection.execute(insert(messages), values)


def last_seq(connection: Connection, key: str) -> int:
    """The place of the last one; -1: there is none."""
    last = connection.execute(select(func.max(messages.c.seq)).where(messages.c.key == key)).scalar()
    return -1 if last is None else int(last)


def sent(connection: Connection, key: str) -> list[Stored]:
    """What the model is sent, in the form in which it is."""
    shown = func.coalesce(messages.c.sent, messages.c.message)
    rows = connection.execute(
        select(messages.c.seq, messages.c.run, messages.c.turn, shown, messages.c.at)
        .where(messages.c.key == key, messages.c.dropped.is_(False))
        .order_by(messages.c.seq)
    )
    return [Stored(seq, run, turn, _read(text), at) for seq, run, turn, text, at in rows]


def all_of(connection: Connection, key: str, after: int = -1, limit: int = 10_000) -> list[Stored]:
    """Everything that was said, as it was said, in places above `after`."""
    rows = connection.execute(
        select(
            messages.c.seq,
            messages.c.run,
            messages.c.turn,
            messages.c.message,
            messages.c.at,
            messages.c.dropped,
        )
        .where(messages.c.key == key, messages.c.seq > after)
        .order_by(messages.c.seq)
        .limit(limit)
    )
    return [Stored(seq, run, turn, _read(text), at, gone) for seq, run, turn, text, at, gone in rows]


def replace(connection: Connection, key: str, changes: Mapping[int, Message | None]) -> None:
    """What the model is sent at these places from now on; None: nothing. Repeatable."""
    for seq, message in changes.items():
        values = {"dropped": True} if message is None else {"sent": msgspec.json.encode(message).decode()}
        connection.execute(
            update(messages).where(messages.c.key == key, messages.c.seq == seq).values(**values)
        )


def _read(text: str) -> Message:
    return msgspec.json.decode(text, type=Message)
