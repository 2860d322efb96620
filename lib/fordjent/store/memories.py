"""What the memory of sessions is made of, across tables."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select

from fordjent.models.messages import Message
from fordjent.store.schema import messages, model_calls, sessions, tool_calls


class Spent(msgspec.Struct, frozen=True):
    """`model`: the one that answered most; "": none did."""

    model: str = ""
    cost_microdollars: int = 0


def spent(connection: Connection, key: str, run: str) -> Spent:
    """What a run has cost until now, and whom it asked."""
    rows = connection.execute(
        select(model_calls.c.model, func.sum(model_calls.c.cost_microdollars))
        .where(model_calls.c.key == key, model_calls.c.run == run, model_calls.c.state != "reserved")
        .group_by(model_calls.c.model)
        .order_by(func.count().desc(), model_calls.c.model)
    ).all()
    return Spent(rows[0][0], sum(cost for _, cost in rows)) if rows else Spent()


def changed_since(connection: Connection, since: float) -> list[str]:
    """Keys of the sessions that changed their state after that."""
    rows = connection.execute(
        select(sessions.c.key).where(sessions.c.changed_at >= since).order_by(sessions.c.key)
    )
    return [row.key for row in rows]


def at_work(connection: Connection) -> dict[str, int]:
    """Keys of the sessions that work, and where the last message of each stands: no tool call ends without one."""
    newest = (
        select(func.max(messages.c.seq)).where(messages.c.key == sessions.c.key).correlate(sessions)
    ).scalar_subquery()
    rows = connection.execute(
        select(sessions.c.key, newest).where(sessions.c.state == "working").order_by(sessions.c.key)
    )
    return {key: seq or 0 for key, seq in rows}


def tools(connection: Connection, key: str, run: str, limit: int = 8) -> tuple[str, ...]:
    """The tools that a run used and how often, e.g. "bash 4", the most used first."""
    calls = func.count()
    rows = connection.execute(
        select(tool_calls.c.name, calls)
        .where(tool_calls.c.key == key, tool_calls.c.run == run)
        .group_by(tool_calls.c.name)
        .order_by(calls.desc(), tool_calls.c.name)
        .limit(limit)
    )
    return tuple(f"{name} {count}" for name, count in rows)


def last_words(connection: Connection, keys: list[str], looked_through: int = 200) -> str:
    """What sessions said last, the newest of them; "": nothing in their last messages."""
    newest, words = 0.0, ""
    for key in keys:
        rows = connection.execute(
            select(messages.c.message, messages.c.at)
            .where(messages.c.key == key)
            .order_by(messages.c.seq.desc())
            .limit(looked_through)
        )
        for row in rows:
            message = msgspec.json.decode(row.message, type=Message)
            if message.role == "assistant" and message.content.strip():
                if row.at > newest:
                    newest, words = row.at, message.content
                break
    return words
