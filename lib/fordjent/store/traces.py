"""All that is known of one session, for a person to read: nothing secret is in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select

from fordjent.models.messages import Message, ToolCall
from fordjent.store import overview, spent, statistics
from fordjent.store.numbers import Change
from fordjent.store.overview import Shown
from fordjent.store.schema import gate_results, messages, model_calls, runs, sessions, tool_calls
from fordjent.store.spent import Sum
from harness.redaction import Redactor

SHOWN_MESSAGES = 100
SHOWN_CHANGES = 100
SHOWN_RUNS = 50
SHOWN_GATES = 50
SHOWN_CHARACTERS = 2000
"""Of what a tool answered; what people and models say is shown ten times as long."""


class Call(msgspec.Struct):
    """What an answer of the model took."""

    provider: str
    model: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_microdollars: int
    retries: int
    latency_seconds: float
    at: float


class Said(msgspec.Struct):
    """A message: redacted, cut. `call`: of the model that said it; `dropped`: the model is not sent it any more."""

    seq: int
    run: str
    at: float
    role: str
    name: str
    content: str
    calls: list[ToolCall]
    dropped: bool
    call: Call | None = None


class RunShown(msgspec.Struct):
    """`cost_microdollars`: of the calls that are over. `ended_at` None: it goes on."""

    id: str
    role: str
    agent_type: str
    started_at: float
    ended_at: float | None
    running_seconds: float
    turns: int
    outcome: str
    reason: str
    start_commit: str
    end_commit: str
    calls: int = 0
    cost_microdollars: int = 0


class Gate(msgspec.Struct):
    gate: str
    commit: str
    passed: bool
    reason: str
    seconds: float
    at: float


class Trace(msgspec.Struct):
    """`messages`: the last ones before a place; `count`: how many there are in all."""

    session: Shown
    branch: str
    base: str
    spent: Sum
    runs: list[RunShown]
    changes: list[Change]
    messages: list[Said]
    count: int
    tools: list[tuple[str, int]]
    gates: list[Gate]


def of(
    connection: Connection, key: str, redactor: Redactor, now: float, before: int | None = None
) -> Trace | None:
    """`before`: messages from that place on are left out. None: there is no such session."""
    session = overview.one(connection, now, key)
    if session is None:
        return None
    branches = select(sessions.c.branch, sessions.c.base).where(sessions.c.key == key)
    branch, base = connection.execute(branches).one()
    said = select(func.count()).select_from(messages).where(messages.c.key == key)
    return Trace(
        session=session,
        branch=branch,
        base=base,
        spent=spent.of_key(connection, key),
        runs=_runs(connection, key),
        changes=statistics.changes(connection, SHOWN_CHANGES, key),
        messages=_messages(connection, key, redactor, before),
        count=connection.execute(said).scalar_one(),
        tools=_tools(connection, key),
        gates=_gates(connection, key),
    )


def run(connection: Connection, key: str, run_id: str) -> RunShown | None:
    """One run of that session."""
    row = connection.execute(select(*_RUN).where(runs.c.key == key, runs.c.id == run_id)).first()
    return RunShown(*row) if row else None


_RUN = [runs.c[name] for name in RunShown.__struct_fields__[:11]]
_CALL = [model_calls.c[name] for name in Call.__struct_fields__]


def _runs(connection: Connection, key: str) -> list[RunShown]:
    """The newest first."""
    rows = connection.execute(
        select(*_RUN).where(runs.c.key == key).order_by(runs.c.started_at.desc()).limit(SHOWN_RUNS)
    )
    sums = func.count(), func.coalesce(func.sum(model_calls.c.cost_microdollars), 0)
    costs = connection.execute(
        select(model_calls.c.run, *sums)
        .where(model_calls.c.key == key, statistics.ASKED)
        .group_by(model_calls.c.run)
    )
    taken: dict[str, tuple[int, int]] = {run: (calls, cost) for run, calls, cost in costs}
    found = [RunShown(*row) for row in rows]
    for one in found:
        one.calls, one.cost_microdollars = taken.get(one.id, (0, 0))
    return found


def _messages(connection: Connection, key: str, redactor: Redactor, before: int | None) -> list[Said]:
    columns = [messages.c[name] for name in ("seq", "run", "at", "message", "dropped")]
    chosen = (
        select(*columns).where(messages.c.key == key).order_by(messages.c.seq.desc()).limit(SHOWN_MESSAGES)
    )
    if before is not None:
        chosen = chosen.where(messages.c.seq < before)
    said = [_said(row, redactor) for row in reversed(connection.execute(chosen).all())]
    _put_calls(connection, key, said)
    return said


def _said(row: Any, redactor: Redactor) -> Said:
    message = msgspec.json.decode(row.message, type=Message)
    longest = SHOWN_CHARACTERS if message.role == "tool" else SHOWN_CHARACTERS * 10

    def shown(part: str) -> str:  # redacted first: half a secret is not found any more
        redacted = redactor.redact(part)
        left = len(redacted) - longest
        return redacted if left <= 0 else f"{redacted[:longest]}… ({left:,} more characters)"

    calls = [
        msgspec.structs.replace(call, arguments=redactor.redact(call.arguments))
        for call in message.tool_calls
    ]
    return Said(
        row.seq, row.run, row.at, message.role, message.name, shown(message.content), calls, row.dropped
    )


def _put_calls(connection: Connection, key: str, said: Sequence[Said]) -> None:
    """With each answer of the model what it took: of its run, the last one made before it was stored."""
    answers = [one for one in said if one.role == "assistant"]
    if not answers:
        return
    rows = connection.execute(
        select(model_calls.c.run, *_CALL)
        .where(
            model_calls.c.key == key,
            model_calls.c.state == "answered",
            model_calls.c.run.in_({one.run for one in answers}),
            model_calls.c.at <= answers[-1].at,
        )
        .order_by(model_calls.c.id.desc())
        .limit(SHOWN_MESSAGES * 2)
    )
    calls = [(row.run, Call(*row[1:])) for row in rows]
    for one in reversed(answers):
        place = _first(
            index for index, (run, call) in enumerate(calls) if run == one.run and call.at <= one.at
        )
        if place is not None:
            one.call = calls.pop(place)[1]


def _first(places: Iterable[int]) -> int | None:
    return next(iter(places), None)


def _tools(connection: Connection, key: str) -> list[tuple[str, int]]:
    name = tool_calls.c.name
    chosen = select(name, func.count()).where(tool_calls.c.key == key).group_by(name).order_by(name)
    return [(called, count) for called, count in connection.execute(chosen)]


def _gates(connection: Connection, key: str) -> list[Gate]:
    columns = [gate_results.c[name] for name in Gate.__struct_fields__]
    rows = connection.execute(
        select(*columns)
        .where(gate_results.c.key == key)
        .order_by(gate_results.c.id.desc())
        .limit(SHOWN_GATES)
    )
    return [Gate(*row) for row in rows]
