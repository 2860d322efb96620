"""What the database adds up itself is what its rows add up to, whatever is done to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, create_engine, delete, insert, text, update

from fordjent.store import migrating
from fordjent.store.schema import model_calls, sessions, tool_calls

DAY = 86400
CALL = {"run": "r", "repository": "acme/widget", "turn": 1}
AMOUNTS = "calls, failed, retries, tokens_in, tokens_out, tokens_cached, cost_microdollars"
SUMMED = text(
    "SELECT key, CAST(at / 86400 AS INTEGER) AS day, role, provider, model, repository, count(*), sum(state = 'failed'), "
    "sum(retries), sum(tokens_in), sum(tokens_out), sum(tokens_cached), sum(cost_microdollars) "
    "FROM model_calls WHERE state <> 'reserved' GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5"
)
KEPT = text(
    f"SELECT key, day, role, provider, model, repository, {AMOUNTS} FROM spending WHERE calls ORDER BY 1, 2, 3, 4, 5"
)

DAILY_SUMMED = text(
    "SELECT CAST(at / 86400 AS INTEGER), repository, role, provider, model, count(*), sum(state = 'failed'), sum(retries), "
    "sum(tokens_in), sum(tokens_out), sum(tokens_cached), sum(cost_microdollars) "
    "FROM model_calls WHERE state <> 'reserved' GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"
)
DAILY_KEPT = text(
    f"SELECT day, repository, role, provider, model, {AMOUNTS} FROM daily_spending WHERE calls ORDER BY 1, 2, 3, 4, 5"
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    made = create_engine("sqlite://")
    migrating.upgrade(made)
    return made


calls = st.fixed_dictionaries(
    {
        "id": st.integers(1, 6),
        "key": st.sampled_from(["a/b/issues/1", "a/b/issues/2"]),
        "role": st.sampled_from(["pm", "tester"]),
        "provider": st.sampled_from(["main", "other"]),
        "model": st.sampled_from(["m", "n"]),
        "state": st.sampled_from(["reserved", "answered", "failed"]),
        "tokens_in": st.integers(0, 10**6),
        "tokens_cached": st.integers(0, 10**6),
        "cost_microdollars": st.integers(0, 10**12),
        "retries": st.integers(0, 4),
        "at": st.sampled_from([0.0, DAY - 0.001, DAY, 19000.5 * DAY]),
    }
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["write", "remove"]), calls), max_size=12))
def test_spending_is_the_sum_of_the_calls_that_are_over(
    engine: Engine, steps: list[tuple[str, dict[str, object]]]
) -> None:
    with engine.connect() as connection:
        for step, row in steps:
            known = model_calls.c.id == row["id"]
            if step == "remove":
                connection.execute(delete(model_calls).where(known))
            elif not connection.execute(update(model_calls).where(known).values(**row)).rowcount:
                connection.execute(insert(model_calls).values(**CALL, **row))
        assert connection.execute(KEPT).all() == connection.execute(SUMMED).all()
        assert connection.execute(DAILY_KEPT).all() == connection.execute(DAILY_SUMMED).all()
        connection.rollback()


def test_calls_of_tools_are_counted(engine: Engine) -> None:
    def counted(connection: Connection) -> int:
        return connection.execute(text("SELECT value FROM counters WHERE name = 'tool_calls'")).scalar() or 0

    with engine.connect() as connection:
        known = {
            "key": "a/b/issues/1",
            "repository": "a/b",
            "kind": "issues",
            "number": 1,
            "created_at": 0,
            "changed_at": 0,
        }
        connection.execute(insert(sessions).values(known))
        called = {
            "key": "a/b/issues/1",
            "run": "r",
            "turn": 1,
            "call": "c",
            "name": "bash",
            "arguments": "{}",
            "begun_at": 0,
        }
        for _ in range(3):
            connection.execute(insert(tool_calls).values(called))
        connection.execute(delete(tool_calls).where(tool_calls.c.id == 1))
        assert counted(connection) == 2
        connection.rollback()


def test_what_is_there_already_is_added_up_too(place: Path) -> None:
    from alembic import command

    made = create_engine(f"sqlite:///{place / 'old.db'}")
    with made.begin() as connection:
        command.upgrade(migrating._alembic(connection), "0001")
        row = {
            **CALL,
            "key": "a/b/issues/1",
            "role": "pm",
            "provider": "p",
            "model": "m",
            "state": "answered",
            "at": 5,
        }
        connection.execute(insert(model_calls).values(**row, tokens_in=7))
    migrating.upgrade(made)
    with made.connect() as connection:
        assert connection.execute(text("SELECT calls, tokens_in FROM spending")).all() == [(1, 7)]
