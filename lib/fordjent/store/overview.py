"""What goes on now: which sessions work and at what, what waits for what, what failed and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, func, or_, select

from fordjent.store.schema import (
    RESERVED,
    gate_results,
    inputs,
    issues,
    model_calls,
    runs,
    sessions,
    spending,
    tool_calls,
    waiting_merges,
)


class Shown(msgspec.Struct, kw_only=True):
    """A session in a list. Times are seconds since 1970; `reason` and `title` are not redacted yet.

    `at_work`: somebody holds its lease. `waits_for`: pull requests. `inputs`: how many wait.
    """

    key: str
    title: str
    role: str
    state: str
    failure: str
    reason: str
    cancel: str
    pull: int
    failures: int
    at_work: bool
    ready_at: float | None
    first_input_at: float | None
    changed_at: float
    cost_microdollars: int = 0
    waits_for: list[int] = []
    inputs: int = 0
    doing: Doing | None = None


class Doing(msgspec.Struct, kw_only=True):
    """What a session that works is at. `call`: the tool that was called last; "": none yet.

    `asks`: the model is being asked. `since`: of the call, or of asking.
    """

    run: str
    turns: int
    started_at: float
    asks: bool = False
    call: str = ""
    arguments: str = ""
    call_state: str = ""
    since: float | None = None


class GateFailure(msgspec.Struct):
    key: str
    gate: str
    commit: str
    reason: str
    at: float


def working(connection: Connection, now: float, limit: int) -> list[Shown]:
    """The longest at it first."""
    found = _list(connection, now, sessions.c.state == "working", sessions.c.changed_at, limit)
    for one in found:
        one.doing = _doing(connection, one.key)
    return found


def held_up(connection: Connection, now: float, limit: int) -> list[Shown]:
    """Those that wait, for other work or for people: the latest first."""
    states = sessions.c.state.in_(("waiting", "blocked"))
    return _list(connection, now, states, sessions.c.changed_at.desc(), limit)


def failed(connection: Connection, now: float, limit: int) -> list[Shown]:
    """The latest first."""
    return _list(connection, now, sessions.c.state == "failed", sessions.c.changed_at.desc(), limit)


def in_line(connection: Connection, now: float, limit: int) -> list[Shown]:
    """Those that something waits for and nobody works on, in the order in which they are taken."""
    waits = and_(sessions.c.ready_at.is_not(None), sessions.c.lease_until < now)
    return _list(
        connection, now, waits, func.coalesce(sessions.c.first_input_at, sessions.c.changed_at), limit
    )


def at_work(connection: Connection, now: float) -> int:
    """How many leases are held."""
    held = select(func.count()).select_from(sessions).where(sessions.c.lease_until > now)
    return connection.execute(held).scalar_one()


def listed(
    connection: Connection,
    now: float,
    limit: int,
    *,
    state: str = "",
    repository: str = "",
    before: tuple[float, str] | None = None,
) -> list[Shown]:
    """Any, by when they changed, the latest first; `before`: those that come after that one in the list."""
    conditions: list[ColumnElement[bool]] = []
    if state:
        conditions.append(sessions.c.state == state)
    if repository:
        conditions.append(sessions.c.repository == repository)
    if before:
        at, key = before
        older = and_(sessions.c.changed_at == at, sessions.c.key > key)
        conditions.append(or_(sessions.c.changed_at < at, older))
    return _list(connection, now, and_(True, *conditions), sessions.c.changed_at.desc(), limit)


def one(connection: Connection, now: float, key: str) -> Shown | None:
    found = _list(connection, now, sessions.c.key == key, sessions.c.changed_at, 1)
    if found and found[0].state == "working":
        found[0].doing = _doing(connection, key)
    return found[0] if found else None


def gate_failures(connection: Connection, limit: int) -> list[GateFailure]:
    """The latest first."""
    columns = [gate_results.c[name] for name in GateFailure.__struct_fields__]
    rows = connection.execute(
        select(*columns)
        .where(gate_results.c.passed.is_(False))
        .order_by(gate_results.c.id.desc())
        .limit(limit)
    )
    return [GateFailure(*row) for row in rows]


# ---- a list in three questions, however long it is

_COLUMNS = ("key", "role", "state", "failure", "reason", "cancel", "pull", "failures", "ready_at", "first_input_at", "changed_at")  # fmt: skip


def _list(
    connection: Connection,
    now: float,
    condition: ColumnElement[bool],
    order: ColumnElement[Any],
    limit: int,
) -> list[Shown]:
    rows = connection.execute(
        _sessions(now).where(condition).order_by(order, sessions.c.key).limit(limit)
    ).all()
    keys = [row.key for row in rows]
    costs = _by_key(connection, spending.c.key, func.sum(spending.c.cost_microdollars), keys)
    told = _by_key(connection, inputs.c.key, func.count(), keys, inputs.c.run == "")
    merges = select(waiting_merges.c.key, waiting_merges.c.waits_for).where(waiting_merges.c.key.in_(keys))
    waits_for = {key: msgspec.json.decode(text, type=list[int]) for key, text in connection.execute(merges)}
    return [
        _shown(row, costs.get(row.key, 0), waits_for.get(row.key, []), told.get(row.key, 0)) for row in rows
    ]


def _sessions(now: float) -> Select[Any]:
    about = and_(issues.c.repository == sessions.c.repository, issues.c.number == sessions.c.number)
    return select(
        *(sessions.c[name] for name in _COLUMNS),
        func.coalesce(issues.c.title, "").label("title"),
        (sessions.c.lease_until > now).label("at_work"),
    ).join_from(sessions, issues, about, isouter=True)


def _shown(row: Row[Any], cost: int, waits_for: list[int], told: int) -> Shown:
    facts = dict(row._mapping)
    return Shown(**facts, cost_microdollars=cost, waits_for=waits_for, inputs=told)


def _by_key(
    connection: Connection,
    key: ColumnElement[str],
    value: ColumnElement[int],
    keys: Iterable[str],
    *conditions: ColumnElement[bool],
) -> dict[str, int]:
    rows = connection.execute(select(key, value).where(key.in_(list(keys)), *conditions).group_by(key))
    return {of: count for of, count in rows}


def _doing(connection: Connection, key: str) -> Doing | None:
    run = _last(connection, select(runs.c.id, runs.c.turns, runs.c.started_at).where(runs.c.key == key, runs.c.outcome == ""), runs.c.started_at)  # fmt: skip
    if run is None:
        return None
    doing = Doing(run=run.id, turns=run.turns, started_at=run.started_at)
    called = select(tool_calls.c.name, tool_calls.c.arguments, tool_calls.c.state, tool_calls.c.begun_at)
    call = _last(
        connection, called.where(tool_calls.c.key == key, tool_calls.c.run == run.id), tool_calls.c.id
    )
    if call:
        doing.call, doing.arguments = call.name, call.arguments
        doing.call_state, doing.since = call.state, call.begun_at
    asking = select(model_calls.c.at).where(model_calls.c.key == key, model_calls.c.run == run.id, RESERVED)
    asked = _last(connection, asking, model_calls.c.id)
    if asked and doing.call_state != "begun":
        doing.asks, doing.since = True, asked.at
    return doing


def _last(connection: Connection, chosen: Select[Any], order: ColumnElement[Any]) -> Row[Any] | None:
    return connection.execute(chosen.order_by(order.desc()).limit(1)).first()
