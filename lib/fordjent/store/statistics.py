"""What the database has to say in numbers: for /status, /metrics and fordjent-status."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Executable, FromClause, Select, Table, func, select

from fordjent.scheduling import plan
from fordjent.store import counters, deliveries, spent, waiting_issues
from fordjent.store import events as stored_events
from fordjent.store.numbers import (
    Change,
    Costs,
    Held,
    Lifecycle,
    Metrics,
    Queue,
    SessionUsage,
    Spending,
    Status,
    Turn,
    Usage,
    WaitingIssues,
)
from fordjent.store.schema import (
    events,
    gate_results,
    model_calls,
    sessions,
    spending,
    tool_calls,
    transitions,
)
from harness.clock import timestamp

STATES = ("created", "working", "waiting", "blocked", "completed", "failed")
RECENT = 20
TURNS = 30

ASKED = model_calls.c.state != "reserved"


def status(connection: Connection, now: float, since: float = 0.0) -> Status:
    """`since`: calls of models before it are left out of `by_model` and `by_session_model`."""
    by_state = states(connection)
    rejected = counters.of(connection, f"{counters.REJECTED}.")
    counts = deliveries.counts(connection)
    counts.rejected = sum(rejected.values())
    return Status(
        now=timestamp(now),
        deliveries=counts,
        rejected=rejected,
        sessions=by_state,
        queue=queue(connection, now),
        parked=stored_events.parked(connection, RECENT),
        waiting_issues=waiting(connection),
        costs=_costs(connection),
        by_model=[Usage(*row) for row in _usage(connection, since)],
        by_session_model=[SessionUsage(*row) for row in _usage(connection, since, "key")],
        lifecycle=Lifecycle(
            by_state["working"],
            by_state["failed"],
            changes(connection, RECENT),
            turns(connection, TURNS),
        ),
        metrics=metrics(connection, by_state),
    )


def states(connection: Connection) -> dict[str, int]:
    """How many sessions are in each state; each state is there."""
    rows = connection.execute(select(sessions.c.state, func.count()).group_by(sessions.c.state))
    return dict.fromkeys(STATES, 0) | {state: count for state, count in rows}


def failures(connection: Connection) -> list[tuple[str, int]]:
    """How many sessions failed, by why."""
    rows = connection.execute(
        select(sessions.c.failure, func.count())
        .where(sessions.c.state == "failed")
        .group_by(sessions.c.failure)
        .order_by(sessions.c.failure)
    )
    return [(why, count) for why, count in rows]


def queue(connection: Connection, now: float) -> Queue:
    new, oldest = _one(
        connection, select(func.count(), func.min(events.c.created_at)).where(events.c.state == "new")
    )
    idle = (sessions.c.ready_at.is_not(None)) & (sessions.c.lease_until < now)
    ready, first = _one(connection, select(func.count(), func.min(sessions.c.first_input_at)).where(idle))
    since = min((at for at in (oldest, first) if at is not None), default=now)
    parked = connection.execute(select(func.count()).where(events.c.state == "parked")).scalar() or 0
    return Queue(new + ready, round(max(0.0, now - since), 3), parked)


def waiting(connection: Connection) -> WaitingIssues:
    rows = waiting_issues.oldest(connection, RECENT)
    ways = {name: _cycles(connection, name) for name in {row.repository for row in rows}}
    return WaitingIssues(
        waiting_issues.count(connection),
        [
            Held(
                row.key,
                list(row.waits_for),
                timestamp(row.since),
                next((list(way) for way in ways[row.repository] if row.number in way), []),
            )
            for row in rows
        ],
    )


def _cycles(connection: Connection, repository: str) -> list[tuple[int, ...]]:
    """Of the issues that wait there, as last looked at."""
    known = {row.number: row.waits_for for row in waiting_issues.of_repository(connection, repository)}
    return plan.ways_round(
        {number: [other for other in others if other in known] for number, others in known.items()}
    )


def metrics(connection: Connection, by_state: dict[str, int]) -> Metrics:
    summed = spent.in_all(connection)
    return Metrics(
        events_total=_count(connection, events) + counters.value(connection, counters.PRUNED_EVENTS),
        sessions_total=sum(by_state.values()),
        sessions_active=by_state["working"],
        tool_calls_total=counters.value(connection, counters.TOOL_CALLS),
        llm_calls_total=summed.calls,
        llm_retries_total=summed.retries,
        input_tokens=summed.tokens_in,
        output_tokens=summed.tokens_out,
        cost_usd=_dollars(summed.cost_microdollars),
    )


def gates(connection: Connection) -> list[tuple[str, bool, int]]:
    """How often each gate was passed, and how often not."""
    gate, passed = gate_results.c.gate, gate_results.c.passed
    rows = connection.execute(
        select(gate, passed, func.count()).group_by(gate, passed).order_by(gate, passed)
    )
    return [(name, bool(verdict), count) for name, verdict, count in rows]


def changes(connection: Connection, limit: int, key: str = "") -> list[Change]:
    """Of states, the newest first; of one session, or of all."""
    columns = [transitions.c[name] for name in ("key", "from_state", "to_state", "reason", "at")]
    chosen = select(*columns).order_by(transitions.c.id.desc()).limit(limit)
    if key:
        chosen = chosen.where(transitions.c.key == key)
    return [
        Change(of, before, after, why, timestamp(at))
        for of, before, after, why, at in connection.execute(chosen)
    ]


def turns(connection: Connection, limit: int) -> list[Turn]:
    """The newest first."""
    chosen = turn_rows().where(ASKED).order_by(model_calls.c.id.desc()).limit(limit)
    return [turn(row) for row in connection.execute(chosen)]


def turn_rows() -> Select[Any]:
    """To be narrowed, and read by `turn`; the last column is the id."""
    calls = model_calls.c
    used = (
        select(func.count())
        .select_from(tool_calls)
        .where(tool_calls.c.run == calls.run, tool_calls.c.turn == calls.turn, tool_calls.c.key == calls.key)
        .scalar_subquery()
    )
    return select(
        calls.key,
        calls.turn,
        used,
        calls.latency_seconds,
        calls.tokens_in,
        calls.tokens_out,
        calls.error,
        calls.at,
        calls.id,
    )


def turn(row: Any) -> Turn:
    key, number, used, latency, tokens_in, tokens_out, error, at, _ = row
    return Turn(key, number, used, round(latency * 1000), tokens_in, tokens_out, error, timestamp(at))


def _costs(connection: Connection) -> Costs:
    summed = spent.in_all(connection)
    used = select(func.count(spending.c.key.distinct())).where(spending.c.calls > 0)
    keys = connection.execute(used).scalar() or 0
    names = ("key", "provider", "model", "tokens_in", "tokens_out", "cost_microdollars", "at")
    newest = (
        select(*(model_calls.c[name] for name in names))
        .where(ASKED)
        .order_by(model_calls.c.id.desc())
        .limit(RECENT)
    )
    recent = [
        Spending(key, provider, model, tokens_in, tokens_out, _dollars(cost), timestamp(at))
        for key, provider, model, tokens_in, tokens_out, cost, at in connection.execute(newest)
    ]
    return Costs(keys, summed.tokens_in + summed.tokens_out, _dollars(summed.cost_microdollars), recent)


def _usage(connection: Connection, since: float, *more: str) -> list[tuple[Any, ...]]:
    names = ("provider", "model", *more)
    if since > 0:  # within a day only the calls themselves say
        table: Table = model_calls
        count: ColumnElement[Any] = func.count()
        chosen = [ASKED, model_calls.c.at >= since]
    else:
        table = spending
        count = _sum(spending.c.calls)
        chosen = [spending.c.calls > 0]
    by = [table.c[name] for name in names]
    sums = [_sum(table.c[name]) for name in ("tokens_in", "tokens_out", "cost_microdollars")]
    rows = connection.execute(
        select(*by[:2], count, *sums, *by[2:]).where(*chosen).group_by(*by).order_by(*by)
    )
    return [
        (provider, model, count, tokens_in, tokens_out, tokens_in + tokens_out, _dollars(cost), *rest)
        for provider, model, count, tokens_in, tokens_out, cost, *rest in rows
    ]


def _one(connection: Connection, chosen: Executable) -> Any:
    return connection.execute(chosen).one()


def _sum(of: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(of), 0)


def _count(connection: Connection, table: FromClause) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar() or 0


def _dollars(microdollars: int) -> float:
    return microdollars / 1_000_000
