"""What `/admin` shows: everything of one moment, in one read of the database."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from sqlalchemy import Connection

from fordjent.config import Config
from fordjent.models import prices
from fordjent.store import counters, deliveries, overview, pausing, spent, statistics
from fordjent.store import events as stored_events
from fordjent.store.budgets import DAY_SECONDS, day_of, month_start
from fordjent.store.deliveries import Counts, StoredDelivery
from fordjent.store.events import Parked
from fordjent.store.numbers import Metrics, Queue, WaitingIssues
from fordjent.store.overview import GateFailure, Shown
from fordjent.store.pausing import Pause
from fordjent.store.spent import Sum
from harness.pages.plots import Bar, Share

SHOWN = 20
SPENDERS = 8
DAYS = 30


class Gate(msgspec.Struct):
    name: str
    passed: int = 0
    failed: int = 0

    @property
    def shares(self) -> list[Share]:
        return [Share("completed", self.passed), Share("failed", self.failed)]


class Spent(msgspec.Struct):
    """US dollars. `days`: the last thirty; `month` counts what is reserved, as budget.month does."""

    days: list[Bar]
    month: float
    total: float
    models: list[Sum]
    roles: list[Sum]
    repositories: list[Sum]
    """Of this month."""
    sessions: list[Sum]


class Dashboard(msgspec.Struct):
    now: float
    pause: Pause | None
    states: dict[str, int]
    at_work: int
    working: list[Shown]
    in_line: list[Shown]
    held_up: list[Shown]
    waiting_issues: WaitingIssues
    failed: list[Shown]
    queue: Queue
    parked: list[Parked]
    spent: Spent
    gates: list[Gate]
    gate_failures: list[GateFailure]
    deliveries: Counts
    rejected: dict[str, int]
    arrived: list[StoredDelivery]
    numbers: Metrics

    @property
    def shares(self) -> list[Share]:
        return [Share(state, count) for state, count in self.states.items()]


def gather(connection: Connection, now: float) -> Dashboard:
    states = statistics.states(connection)
    rejected = counters.of(connection, f"{counters.REJECTED}.")
    counts = deliveries.counts(connection)
    counts.rejected = sum(rejected.values())
    return Dashboard(
        now=now,
        pause=pausing.current(connection),
        states=states,
        at_work=overview.at_work(connection, now),
        working=overview.working(connection, now, SHOWN),
        in_line=overview.in_line(connection, now, SHOWN),
        held_up=overview.held_up(connection, now, SHOWN),
        waiting_issues=statistics.waiting(connection),
        failed=overview.failed(connection, now, SHOWN),
        queue=statistics.queue(connection, now),
        parked=stored_events.parked(connection, SHOWN),
        spent=_spent(connection, now),
        gates=_gates(connection),
        gate_failures=overview.gate_failures(connection, 5),
        deliveries=counts,
        rejected=rejected,
        arrived=deliveries.last(connection, 5),
        numbers=statistics.metrics(connection, states),
    )


def budgets(config: Config) -> dict[str, float]:
    """In US dollars; 0: none."""
    return msgspec.structs.asdict(config.budget)


def unpriced(config: Config) -> set[str]:
    """Models whose price nobody knows."""
    return {config.providers[name].model for name in prices.unknown(config.providers)}


def _spent(connection: Connection, now: float) -> Spent:
    today = day_of(now)
    month = day_of(month_start(now))
    return Spent(
        days=[
            Bar(_date(day), cost / 1_000_000)
            for day, cost in spent.by_day(connection, today - DAYS + 1, today)
        ],
        month=spent.of_month(connection, now) / 1_000_000,
        total=spent.in_all(connection).cost_microdollars / 1_000_000,
        models=spent.by(connection, "model", SPENDERS),
        roles=spent.by(connection, "role", SPENDERS),
        repositories=spent.by(connection, "repository", SPENDERS, month),
        sessions=spent.by_session(connection, SPENDERS),
    )


def _gates(connection: Connection) -> list[Gate]:
    found: dict[str, Gate] = {}
    for name, passed, count in statistics.gates(connection):
        gate = found.setdefault(name, Gate(name))
        if passed:
            gate.passed = count
        else:
            gate.failed = count
    return list(found.values())


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_SECONDS, UTC).strftime("%Y-%m-%d")
