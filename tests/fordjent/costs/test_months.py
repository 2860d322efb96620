"""Months of budgets: their first moment, clocks that are moved, and what is said when one is reached."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from fordjent.config import Budget
from fordjent.models.messages import Answer, Usage, user
from fordjent.models.model import ModelFailure
from fordjent.store import budgets, model_calls, runs, sessions
from fordjent.store.database import Database
from fordjent.store.model_calls import Call
from fordjent.store.schema import runs as runs_table
from fordjent.store.schema import sessions as sessions_table

KEY = "acme/widget/issues/1"
CALL = Call(KEY, "run-1", "acme/widget", "implementer", 1, "main", "gpt", 400_000)
NOVEMBER = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC).timestamp()
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
MONTHLY = (Budget(month=1.0), Budget(repository=1.0))


def spend(database: Database, budget: Budget, now: float, dollars: float, **changes: Any) -> int:
    """A call that is made and over."""
    cost = round(dollars * 1_000_000)
    call = msgspec.structs.replace(CALL, cost_microdollars=cost, **changes)
    made = database.submit(model_calls.reserve, call, budget, now).result()
    answer = Answer(user("x"), Usage(1000, 10, 400), "gpt", "main", cost_microdollars=cost)
    database.submit(model_calls.settle, made, answer).result()
    return made


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
@pytest.mark.parametrize("budget", MONTHLY, ids=["month", "repository"])
def test_a_month_begins_at_midnight_utc_wherever_the_server_stands(
    database: Database, monkeypatch: pytest.MonkeyPatch, budget: Budget, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        spend(database, budget, NOVEMBER, 0.9)
        with pytest.raises(ModelFailure, match="is reached"):
            spend(database, budget, DECEMBER - 0.001, 0.2)
        spend(database, budget, DECEMBER, 0.9)
        with pytest.raises(ModelFailure):
            spend(database, budget, DECEMBER + 1, 0.2)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("budget", MONTHLY, ids=["month", "repository"])
def test_a_clock_that_is_set_back_over_the_border_gives_no_money_back(
    database: Database, budget: Budget
) -> None:
    spend(database, budget, DECEMBER + 60, 0.9)
    for moment in (DECEMBER + 30, NOVEMBER, NOVEMBER - 20 * 86400):
        with pytest.raises(ModelFailure, match="is reached"):
            spend(database, budget, moment, 0.2)


def test_a_call_belongs_to_the_month_in_which_it_was_begun(database: Database) -> None:
    call = msgspec.structs.replace(CALL, cost_microdollars=900_000)
    made = database.submit(model_calls.reserve, call, Budget(month=1.0), NOVEMBER).result()
    spend(database, Budget(month=1.0), DECEMBER + 5, 0.9)
    answer = Answer(user("x"), Usage(1, 1), "gpt", "main", cost_microdollars=800_000)
    database.submit(model_calls.settle, made, answer).result()
    standing = database.look(budgets.of_month, Budget(month=1.0), DECEMBER + 10)
    assert standing and standing.spent_microdollars == 900_000
    standing = database.look(budgets.of_month, Budget(month=1.0), NOVEMBER)
    assert standing and standing.spent_microdollars == 1_700_000, "what seems to be of the future counts"


def test_a_session_has_one_budget_for_ever(database: Database) -> None:
    budget = Budget(session=1.0)
    spend(database, budget, NOVEMBER, 0.9)
    with pytest.raises(ModelFailure, match=r"budget\.session"):
        spend(database, budget, DECEMBER + 40 * 86400, 0.2)
    spend(database, budget, NOVEMBER, 0.9, key="acme/widget/issues/2")


@pytest.mark.parametrize(
    ("budget", "names", "way_out", "resume_at"),
    [
        (Budget(session=1.0), "budget.session of $1.00", "raise budget.session in config.toml", ""),
        (
            Budget(repository=1.0),
            "budget.repository of acme/widget of $1.00",
            "raise budget.repository in config.toml, or wait until it begins anew on 2026-12-01 at 00:00 UTC",
            "2026-12-01T00:00:00+00:00",
        ),
        (
            Budget(month=1.0),
            "budget.month of $1.00",
            "raise budget.month in config.toml, or wait until it begins anew on 2026-12-01 at 00:00 UTC",
            "2026-12-01T00:00:00+00:00",
        ),
    ],
    ids=["session", "repository", "month"],
)
def test_it_is_said_which_budget_is_reached_and_how_to_go_on(
    database: Database, budget: Budget, names: str, way_out: str, resume_at: str
) -> None:
    spend(database, budget, NOVEMBER, 0.95)
    with pytest.raises(ModelFailure) as reached:
        spend(database, budget, NOVEMBER, 0.1)
    assert reached.value.message.startswith(f"{names} is reached: $0.9500 are spent")
    assert reached.value.message.endswith("the next call may cost $0.1000")
    assert (reached.value.hint, reached.value.resume_at) == (way_out, resume_at)


def test_what_is_left_to_the_last_micro_dollar_can_be_spent(database: Database) -> None:
    budget = Budget(session=1.0, repository=1.0, month=1.0)
    spend(database, budget, NOVEMBER, 0.6)
    spend(database, budget, NOVEMBER, 0.4)
    with pytest.raises(ModelFailure):
        spend(database, budget, NOVEMBER, 0.000001)
    spend(database, budget, NOVEMBER, 0.0)


def test_runs_per_hour_outlive_a_clock_that_was_ahead(database: Database) -> None:
    """A clock that was days ahead holds no session for days; one that is set back a little frees none."""
    now = NOVEMBER
    row = {
        "key": KEY,
        "repository": "acme/widget",
        "kind": "issues",
        "number": 1,
        "created_at": 0,
        "changed_at": 0,
    }
    starts = (now - 7200, now - 60, now + 600, now + 5 * 86400)

    def write(connection: Any) -> None:
        connection.execute(sessions_table.insert().values(row))
        for number, at in enumerate(starts):
            values = {"id": str(number), "key": KEY, "role": "pm", "agent_type": "builtin", "started_at": at}
            connection.execute(runs_table.insert().values(values))

    database.submit(write).result()
    assert database.look(sessions.get, KEY)
    assert database.look(runs.starts_around, KEY, now, 3600.0) == [now - 60, now + 600]
