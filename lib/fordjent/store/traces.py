"""All that is known of one session, for a person to read."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select

from fordjent.models.messages import Message
from fordjent.store import statistics
from fordjent.store.numbers import Change
from fordjent.store.schema import messages, model_calls, sessions, tool_calls
from harness.clock import timestamp
from harness.redaction import Redactor

SHOWN_MESSAGES = 500
SHOWN_CHANGES = 200
SHOWN_CHARACTERS = 2000


class Said(msgspec.Struct):
    """A message: redacted, cut. `calls`: what it asked to be done."""

    at: str
    turn: int
    role: str
    name: str
    content: str
    calls: list[str]


class Trace(msgspec.Struct):
    key: str
    role: str
    state: str
    reason: str
    cost_usd: float
    changes: list[Change]
    messages: list[Said]
    tools: list[tuple[str, int]]


def of(connection: Connection, key: str, redactor: Redactor) -> Trace | None:
    """The last messages and changes of a session; None: there is no such session."""
    session = connection.execute(
        select(sessions.c.role, sessions.c.state, sessions.c.reason).where(sessions.c.key == key)
    ).first()
    if session is None:
        return None
    spent = select(func.sum(model_calls.c.cost_microdollars)).where(
        model_calls.c.key == key, statistics.ASKED
    )
    return Trace(
        key=key,
        role=session.role,
        state=session.state,
        reason=redactor.redact(session.reason),
        cost_usd=(connection.execute(spent).scalar() or 0) / 1_000_000,
        changes=statistics.changes(connection, SHOWN_CHANGES, key),
        messages=_messages(connection, key, redactor),
        tools=_tools(connection, key),
    )


def _messages(connection: Connection, key: str, redactor: Redactor) -> list[Said]:
    chosen = (
        select(messages.c.at, messages.c.turn, messages.c.message)
        .where(messages.c.key == key)
        .order_by(messages.c.seq.desc())
        .limit(SHOWN_MESSAGES)
    )
    return [_said(at, turn, text, redactor) for at, turn, text in reversed(connection.execute(chosen).all())]


def _said(at: float, turn: int, text: str, redactor: Redactor) -> Said:
    message = msgspec.json.decode(text, type=Message)

    def shown(part: str) -> str:
        redacted = redactor.redact(part)
        return redacted if len(redacted) <= SHOWN_CHARACTERS else redacted[:SHOWN_CHARACTERS] + "…"

    calls = [shown(f"{call.name} {call.arguments}") for call in message.tool_calls]
    return Said(timestamp(at), turn, message.role, message.name, shown(message.content), calls)


def _tools(connection: Connection, key: str) -> list[tuple[str, int]]:
    name = tool_calls.c.name
    chosen = select(name, func.count()).where(tool_calls.c.key == key).group_by(name).order_by(name)
    return [(called, count) for called, count in connection.execute(chosen)]
