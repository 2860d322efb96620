"""Every number on a page is the database's: the page is read by a parser, the database is asked in plain SQL."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from sqlalchemy import Connection, text

from fordjent.context import Context
from harness.pages import shown
from tests.fordjent.serving.conftest import Ask
from tests.support import busy_state
from tests.support.busy_state import KEY, REPOSITORY

OVER = "FROM model_calls WHERE state <> 'reserved'"


class Numbers(HTMLParser):
    """The `<data>` elements (name, value, what a person reads) and the bars of plots."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, float, str]] = []
        self.bars: dict[str, float] = {}
        self._open: tuple[str, float] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "data":
            self._open = (given["data-name"] or "", float(given["value"] or "nan"))
        elif "data-value" in given:
            self.bars[given["data-name"] or ""] = float(given["data-value"] or "nan")

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found.append((*self._open, data))
            self._open = None

    def expect(self, expected: dict[str, float]) -> None:
        """Exactly these names, each with its value wherever it stands, and as a person reads it."""
        assert {name for name, _, _ in self.found} == set(expected)
        for name, value, words in self.found:
            assert value == pytest.approx(expected[name], abs=1e-9), name
            assert words in (shown.count(value), shown.dollars(value)), name


class Filled:
    """Fills the database before the page is asked for, and asks it afterwards in SQL."""

    def __init__(self) -> None:
        self.now = time.time()
        self.answers: dict[str, list[Any]] = {}

    def __call__(self, context: Context) -> None:
        context.database.submit(busy_state.fill, self.now).result(20)


def _asking(filled: Filled, queries: dict[str, str]) -> Callable[[Context], None]:
    """`queries`: prefix of the names -> SQL with name and value."""

    def prepare(context: Context) -> None:
        filled(context)

        def ask(connection: Connection) -> None:
            for prefix, sql in queries.items():
                filled.answers[prefix] = [tuple(row) for row in connection.execute(text(sql))]

        context.database.look(ask)

    return prepare


def _named(filled: Filled) -> dict[str, float]:
    return {
        (f"{prefix} {name}" if name else prefix): float(value or 0)
        for prefix, rows in filled.answers.items()
        for name, value in rows
    }


def test_every_number_of_the_dashboard(ask: Ask) -> None:
    filled = Filled()
    month = datetime.now(UTC).strftime("%Y-%m-01")
    in_month = f"at >= CAST(strftime('%s', '{month}') AS INTEGER)"
    by = "SELECT {0}, {1} " + OVER + " GROUP BY 1"
    listed = "FROM sessions WHERE state IN ('working', 'failed')"
    queries = {
        "sessions": "SELECT state, count(*) FROM sessions GROUP BY 1",
        "queue waiting": f"SELECT '', (SELECT count(*) FROM events WHERE state = 'new') + (SELECT count(*) FROM sessions WHERE ready_at IS NOT NULL AND lease_until < {filled.now})",
        "queue parked": "SELECT '', count(*) FROM events WHERE state = 'parked'",
        "at work": f"SELECT '', count(*) FROM sessions WHERE lease_until > {filled.now}",
        "turns": "SELECT key, turns FROM runs WHERE outcome = ''",
        "cost": f"SELECT key, (SELECT sum(cost_microdollars) / 1e6 FROM model_calls WHERE model_calls.key = sessions.key AND state <> 'reserved') {listed}",
        "waiting issues": "SELECT '', count(*) FROM waiting_issues",
        "inputs": "SELECT key, count(*) FROM inputs WHERE run = '' GROUP BY 1",
        "failures": "SELECT key, failures FROM sessions WHERE state = 'failed'",
        "spent month": f"SELECT '', sum(cost_microdollars) / 1e6 FROM model_calls WHERE {in_month}",
        "spent total": f"SELECT '', sum(cost_microdollars) / 1e6 {OVER}",
        "gate passed": "SELECT gate, sum(passed) FROM gate_results GROUP BY 1",
        "gate failed": "SELECT gate, sum(NOT passed) FROM gate_results GROUP BY 1",
        "events_total": "SELECT '', count(*) FROM events",
        "sessions_total": "SELECT '', count(*) FROM sessions",
        "llm_calls_total": f"SELECT '', count(*) {OVER}",
        "llm_retries_total": f"SELECT '', sum(retries) {OVER}",
        "tool_calls_total": "SELECT '', count(*) FROM tool_calls",
        "input_tokens": f"SELECT '', sum(tokens_in) {OVER}",
        "output_tokens": f"SELECT '', sum(tokens_out) {OVER}",
        "deliveries": "SELECT status, count(*) FROM deliveries GROUP BY 1 UNION SELECT 'duplicate', sum(duplicates) FROM deliveries "
        "UNION SELECT 'filtered', 0 UNION SELECT 'rejected', sum(value) FROM counters WHERE name LIKE 'deliveries.rejected.%'",
    }
    for name, column in (("model", "model"), ("role", "role"), ("session", "key")):
        queries[f"{name} calls"] = by.format(column, "count(*)")
        queries[f"{name} tokens"] = by.format(column, "sum(tokens_in + tokens_out)")
        queries[f"{name} cost"] = by.format(column, "sum(cost_microdollars) / 1e6")
    for name, value in (
        ("calls", "count(*)"),
        ("tokens", "sum(tokens_in + tokens_out)"),
        ("cost", "sum(cost_microdollars) / 1e6"),
    ):
        queries[f"repository {name}"] = f"SELECT repository, {value} {OVER} AND {in_month} GROUP BY 1"
    page = Numbers(ask("/admin", prepare=_asking(filled, queries)).text)
    expected = _named(filled)
    shown_sessions = {name for name, _, _ in page.found if name.startswith("session cost")}
    assert len(shown_sessions) == 8  # the dearest ones
    cheapest = min((value, name) for name, value in expected.items() if name.startswith("session cost"))[1]
    for what in ("calls", "tokens", "cost"):
        del expected[cheapest.replace("session cost", f"session {what}")]
    page.expect(expected)


def test_the_plot_of_each_day(ask: Ask) -> None:
    filled = Filled()
    sql = f"SELECT strftime('%Y-%m-%d', at, 'unixepoch'), sum(cost_microdollars) / 1e6 {OVER} AND at > {filled.now - 40 * 86400} GROUP BY 1"
    page = Numbers(ask("/admin", prepare=_asking(filled, {"spent": sql})).text)
    assert len(page.bars) == 30
    expected = _named(filled)
    for name, value in page.bars.items():
        assert value == pytest.approx(expected.get(name, 0.0)), name
    assert (
        sum(page.bars.values())
        == pytest.approx(sum(value for name, value in expected.items() if name in page.bars))
        != 0
    )


def test_every_number_of_a_session(ask: Ask) -> None:
    filled = Filled()
    of = f"{OVER} AND key = '{KEY}'"
    answered = f"FROM (SELECT row_number() OVER (ORDER BY id) AS place, * FROM model_calls WHERE key = '{KEY}' AND state = 'answered') WHERE place <= 3"
    queries = {
        "cost": f"SELECT '', sum(cost_microdollars) / 1e6 {of} UNION SELECT run, sum(cost_microdollars) / 1e6 {of} GROUP BY run "
        f"UNION SELECT place * 2, cost_microdollars / 1e6 {answered}",
        "calls": f"SELECT '', count(*) {of}",
        "tokens in": f"SELECT '', sum(tokens_in) {of}",
        "tokens cached": f"SELECT '', sum(tokens_cached) {of}",
        "tokens out": f"SELECT '', sum(tokens_out) {of}",
        "in": f"SELECT place * 2, tokens_in {answered}",
        "out": f"SELECT place * 2, tokens_out {answered}",
        "turns": f"SELECT id, turns FROM runs WHERE key = '{KEY}'",
        "tool": f"SELECT name, count(*) FROM tool_calls WHERE key = '{KEY}' GROUP BY 1",
        "messages": f"SELECT '', count(*) FROM messages WHERE key = '{KEY}'",
    }
    Numbers(ask(f"/trace/{KEY}", prepare=_asking(filled, queries)).text).expect(_named(filled))


def test_every_number_of_the_list_of_sessions(ask: Ask) -> None:
    filled = Filled()
    cost = f"SELECT s.key, (SELECT sum(cost_microdollars) / 1e6 {OVER} AND key = s.key) FROM sessions AS s"
    page = ask("/sessions", prepare=_asking(filled, {"cost": cost}))
    Numbers(page.text).expect(_named(filled))
    one = ask(f"/sessions?state=failed&repository={REPOSITORY}")
    assert len(Numbers(one.text).found) == 3
