"""fordjent-cost: every number is the database's."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, insert, select

from fordjent.config import Budget
from fordjent.costs import report, since
from fordjent.costs.report import WAYS, By
from fordjent.store import migrating
from fordjent.store.database import Database
from fordjent.store.schema import model_calls as table
from harness import process
from harness.errors import Usage
from tests.support.grounds import write_config

ROOT = Path(__file__).resolve().parents[3]
DAY = 86400
NOW = 20_787.5 * DAY
"""2026-11-30, noon."""
BUDGET = Budget(repository=5.0, month=10.0)
AMOUNTS = ("retries", "tokens_in", "tokens_out", "tokens_cached", "cost_microdollars")
NAMES: dict[By, Callable[[Any], tuple[str, str]]] = {
    "model": lambda row: (row.model, row.provider),
    "role": lambda row: (row.role, ""),
    "repository": lambda row: (row.repository, ""),
    "day": lambda row: (time.strftime("%Y-%m-%d", time.gmtime(row.at)), ""),
    "session": lambda row: (row.key, ""),
}

calls = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["a/b/issues/1", "a/b/pulls/2", "c/d/issues/1"]),
        "role": st.sampled_from(["pm", "tester"]),
        "provider": st.sampled_from(["main", "other"]),
        "model": st.sampled_from(["m", "n"]),
        "state": st.sampled_from(["reserved", "answered", "failed"]),
        "tokens_in": st.integers(0, 10**6),
        "tokens_out": st.integers(0, 10**6),
        "tokens_cached": st.integers(0, 10**6),
        "cost_microdollars": st.integers(0, 10**9),
        "retries": st.integers(0, 4),
        "at": st.sampled_from([NOW - 40 * DAY, NOW - DAY - 0.001, NOW - DAY, NOW - 60, NOW]),
    }
)


def row_of(call: dict[str, Any]) -> dict[str, Any]:
    return {"run": "r", "turn": 1, "repository": call["key"].rsplit("/", 2)[0], **call}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(calls, max_size=12),
    st.sampled_from(WAYS),
    st.sampled_from([0.0, NOW - DAY, NOW - 1.5 * DAY, NOW - 90]),
)
def test_each_line_is_the_sum_of_its_calls(rows: list[dict[str, Any]], by: By, begins: float) -> None:
    with ENGINE.connect() as connection:
        for row in rows:
            connection.execute(insert(table).values(row_of(row)))
        found = report.report(connection, by, begins, BUDGET, NOW)
        every = connection.execute(select(table).where(table.c.at >= begins)).all()
        connection.rollback()
    over = [row for row in every if row.state != "reserved"]
    groups = {(line.name, line.provider): line for line in found.lines}
    assert groups.keys() == {NAMES[by](row) for row in over}
    for name, line in [*groups.items(), (None, found.total)]:
        mine = [row for row in over if name in (None, NAMES[by](row))]
        assert line.calls == len(mine)
        assert line.failed == sum(row.state == "failed" for row in mine)
        for amount in AMOUNTS:
            assert getattr(line, amount) == sum(getattr(row, amount) for row in mine)
        assert line.cost_usd == line.cost_microdollars / 1e6
    costs = [line.cost_microdollars for line in found.lines]
    names = [line.name for line in found.lines]
    assert names == sorted(names) if by == "day" else costs == sorted(costs, reverse=True)


@settings(max_examples=30, deadline=None)
@given(st.lists(calls, max_size=12))
def test_budgets_count_this_months_calls_and_those_that_are_being_made(rows: list[dict[str, Any]]) -> None:
    with ENGINE.connect() as connection:
        for row in rows:
            connection.execute(insert(table).values(row_of(row)))
        found = report.report(connection, "model", 0.0, BUDGET, NOW)
        connection.rollback()
    month = [row_of(row) for row in rows if row["at"] > NOW - 29.5 * DAY]
    spent = {one.repository: one.spent_usd for one in found.budgets}
    assert spent.pop("") == sum(row["cost_microdollars"] for row in month) / 1e6
    assert spent == {
        name: sum(row["cost_microdollars"] for row in month if row["repository"] == name) / 1e6
        for name in {row["repository"] for row in month}
    }
    reserved = [row["cost_microdollars"] for row in rows if row["state"] == "reserved"]
    assert (found.being_made.calls, found.being_made.cost_microdollars) == (len(reserved), sum(reserved))


def _engine() -> Any:
    made = create_engine("sqlite://")
    migrating.upgrade(made)
    return made


ENGINE = _engine()


# ---- the command


@pytest.fixture
def config(place: Path) -> Path:
    """Of a server that has made three calls: two of them a week ago."""
    made = write_config(place, "[budget]\nmonth = 10.0\n")
    database = Database.open(made.database_url)

    def write(connection: Connection) -> None:
        now = time.time()
        for number, (key, ago) in enumerate(
            [("a/b/issues/1", 7 * DAY), ("a/b/issues/1", 7 * DAY), ("c/d/issues/2", 5)]
        ):
            values = {"key": key, "role": "pm", "provider": "main", "model": "[bold]m", "state": "answered"}
            amounts = {
                "tokens_in": 1000,
                "tokens_cached": 400,
                "tokens_out": 10,
                "cost_microdollars": 1_250_000 + number,
            }
            connection.execute(insert(table).values(row_of({**values, **amounts, "at": now - ago})))

    database.submit(write).result()
    database.close()
    return made.path


def cost(config: Path, *words: str) -> Any:
    done = process.run([str(ROOT / "bin/fordjent-cost"), "--config", str(config), *words])
    assert done.ok, done.error_text
    return json.loads(done.stdout)


def test_it_is_json_when_piped(config: Path) -> None:
    told = cost(config, "--by", "session")
    assert [(line["name"], line["calls"], line["cost_microdollars"]) for line in told["lines"]] == [
        ("a/b/issues/1", 2, 2_500_001),
        ("c/d/issues/2", 1, 1_250_002),
    ]
    assert (told["total"]["cost_usd"], told["total"]["tokens_cached"]) == (3.750003, 1200)
    assert told["budgets"][0]["name"] == "month" and told["since"] == ""
    assert [line["name"] for line in cost(config, "--by", "session", "--since", "24h")["lines"]] == [
        "c/d/issues/2"
    ]


def test_it_is_a_table_on_a_terminal(config: Path) -> None:
    shown = on_terminal([str(ROOT / "bin/fordjent-cost"), "--config", str(config)])
    assert "[bold]m" in shown and "$3.7500" in shown and "Budgets" in shown and "$10.0000" in shown
    as_json = on_terminal([str(ROOT / "bin/fordjent-cost"), "--config", str(config), "--json"])
    assert json.loads(as_json)["total"]["calls"] == 3


def on_terminal(words: list[str]) -> str:
    ours, theirs = pty.openpty()
    done = subprocess.run(words, stdout=theirs, env={**os.environ, "COLUMNS": "120"}, timeout=60, check=False)
    os.close(theirs)
    assert done.returncode == 0
    said = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the other side is closed (pty(7))
            break
        if not data:
            break
        said += data
    os.close(ours)
    return said.decode()


@pytest.mark.parametrize("words", [["--by", "moon"], ["--since", "yesterday"], ["--since", "5y"]])
def test_what_is_off_is_exit_64(config: Path, words: list[str]) -> None:
    done = process.run([str(ROOT / "bin/fordjent-cost"), "--config", str(config), *words])
    assert done.exit_code == 64 and words[1] in done.error_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0.0),
        ("30d", NOW - 30 * DAY),
        ("90m", NOW - 5400),
        ("2026-11-30", NOW - DAY / 2),
        ("2026-11-30T12:00:00+02:00", NOW - 7200),
        ("2026-11-30T12:00", NOW),
        ("999999d", 0.0),
    ],
)
def test_since_is_a_day_a_time_or_so_long_ago(text: str, seconds: float) -> None:
    assert since.read(text, NOW) == seconds
    with pytest.raises(Usage):
        since.read(f"{text}!", NOW)
