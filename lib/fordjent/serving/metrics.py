"""`/metrics`: the numbers of the database as Prometheus reads them; they outlive the process."""

from __future__ import annotations

import time
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Connection

from fordjent import durations
from fordjent.store import counters, deliveries, overview, pausing, spent, statistics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def text(connection: Connection) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gathered(list(_families(connection))))
    return generate_latest(registry) + generate_latest(durations.REGISTRY)


class _Gathered(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _families(connection: Connection) -> Iterable[Metric]:
    by_state = statistics.states(connection)
    numbers = statistics.metrics(connection, by_state)
    yield CounterMetricFamily("fordjent_events", "Events that were stored.", numbers.events_total)
    yield CounterMetricFamily("fordjent_sessions", "Sessions that were begun.", numbers.sessions_total)
    yield GaugeMetricFamily("fordjent_sessions_active", "Sessions that work.", numbers.sessions_active)
    yield CounterMetricFamily("fordjent_tool_calls", "Calls of tools.", numbers.tool_calls_total)
    yield CounterMetricFamily("fordjent_llm_calls", "Calls of models.", numbers.llm_calls_total)
    yield CounterMetricFamily(
        "fordjent_llm_retries", "Tries beyond the first of each.", numbers.llm_retries_total
    )
    tokens = CounterMetricFamily("fordjent_tokens", "Tokens of models.", labels=["type"])
    tokens.add_metric(["input"], numbers.input_tokens)
    tokens.add_metric(["output"], numbers.output_tokens)
    yield tokens
    yield CounterMetricFamily("fordjent_cost_total_total", "US dollars spent on models.", numbers.cost_usd)
    yield _deliveries(connection)
    yield CounterMetricFamily(
        "fordjent_reconcile_missed",
        "Events that no webhook told of, found by the reconcile.",
        counters.value(connection, counters.MISSED),
    )
    states = GaugeMetricFamily("fordjent_sessions_by_state", "Sessions by state.", labels=["state"])
    for state, count in by_state.items():
        states.add_metric([state], count)
    yield states
    yield from _models(connection)
    failed = GaugeMetricFamily("fordjent_sessions_failed", "Sessions that failed, by why.", labels=["why"])
    for why, count in statistics.failures(connection):
        failed.add_metric([why], count)
    yield failed
    now = time.time()
    yield GaugeMetricFamily(
        "fordjent_sessions_at_work", "Sessions that somebody works on.", overview.at_work(connection, now)
    )
    yield GaugeMetricFamily(
        "fordjent_paused",
        "1 while an administrator lets nothing begin.",
        int(bool(pausing.current(connection))),
    )
    queue = statistics.queue(connection, now)
    yield GaugeMetricFamily("fordjent_queue_waiting", "Events and sessions that wait.", queue.waiting)
    yield GaugeMetricFamily(
        "fordjent_queue_oldest_seconds", "How long the oldest waits.", queue.oldest_seconds
    )
    yield GaugeMetricFamily("fordjent_events_parked", "Events that could not be decided.", queue.parked)
    gates = CounterMetricFamily("fordjent_gate_results", "Gates by verdict.", labels=["gate", "passed"])
    for gate, passed, count in statistics.gates(connection):
        gates.add_metric([gate, str(passed).lower()], count)
    yield gates


def _models(connection: Connection) -> Iterable[Metric]:
    names = ["provider", "model", "role"]
    calls = CounterMetricFamily(
        "fordjent_model_calls", "Calls by what became of them.", labels=[*names, "state"]
    )
    retries = CounterMetricFamily("fordjent_model_retries", "Tries beyond the first of each.", labels=names)
    tokens = CounterMetricFamily(
        "fordjent_model_tokens", "Tokens; cached ones are input too.", labels=[*names, "type"]
    )
    cost = CounterMetricFamily("fordjent_model_cost_dollars", "US dollars.", labels=names)
    for one in spent.by_model_and_role(connection):
        of, sums = [one.provider, one.model, one.role], one.sums
        calls.add_metric([*of, "answered"], sums.calls - sums.failed)
        calls.add_metric([*of, "failed"], sums.failed)
        retries.add_metric(of, sums.retries)
        for kind, count in (
            ("input", sums.tokens_in),
            ("output", sums.tokens_out),
            ("cached", sums.tokens_cached),
        ):
            tokens.add_metric([*of, kind], count)
        cost.add_metric(of, sums.cost_microdollars / 1_000_000)
    return calls, retries, tokens, cost


def _deliveries(connection: Connection) -> Metric:
    counts = deliveries.counts(connection)
    family = CounterMetricFamily(
        "fordjent_deliveries", "Deliveries by what became of them.", labels=["status"]
    )
    counts.accepted += counts.filtered  # which it was before: a counter never falls
    for status in ("accepted", "duplicate", "ignored", "filtered"):
        family.add_metric([status], getattr(counts, status))
    family.add_metric(["rejected"], sum(counters.of(connection, f"{counters.REJECTED}.").values()))
    return family
