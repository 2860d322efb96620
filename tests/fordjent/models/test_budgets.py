"""Budgets: paid before the call, settled after it, and kept whatever becomes of the process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from fordjent.config import Budget
from fordjent.models import prices
from fordjent.models.messages import user
from fordjent.models.metering import MeteredModel, Payer
from fordjent.models.model import ModelFailure
from fordjent.models.models import Models
from fordjent.store import model_calls
from fordjent.store.database import Database
from fordjent.store.model_calls import LEFT_OVER_SECONDS, Call
from fordjent.store.schema import model_calls as table
from tests.support.model_endpoint import Does, ModelEndpoint, refuses, says
from tests.support.model_providers import configured, provider

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
CALL = Call("acme/widget/issues/1", "run-1", "acme/widget", "implementer", 1, "main", "gpt", 400_000)


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    opened = Database.open(f"sqlite:///{place}/fordjent.db")
    yield opened
    opened.close()


def reserve(database: Database, budget: Budget, now: float = NOW, **changes: Any) -> int:
    call = msgspec.structs.replace(CALL, **changes)
    return database.submit(model_calls.reserve, call, budget, now).result()


def rows(database: Database) -> list[Any]:
    return database.look(lambda connection: list(connection.execute(select(table).order_by(table.c.id))))


# ---- reservations


@pytest.mark.parametrize(
    ("budget", "other"),
    [
        (Budget(session=1.0), {"key": "acme/widget/issues/2"}),
        (Budget(repository=1.0), {"repository": "acme/other"}),
        (Budget(month=1.0), {}),
    ],
    ids=["session", "repository", "month"],
)
def test_what_is_reserved_counts_as_spent_and_the_rest_must_be_enough(
    database: Database, budget: Budget, other: dict[str, str]
) -> None:
    for _ in range(2):
        reserve(database, budget)
    with pytest.raises(ModelFailure, match=r"of \$1\.00 is reached: \$0\.8000 are spent") as refused:
        reserve(database, budget)
    assert (refused.value.kind, refused.value.exit_code, refused.value.retry) == ("budget", 75, False)
    assert len(rows(database)) == 2, "what was refused leaves no row"
    reserve(database, budget, cost_microdollars=200_000)
    if other:
        reserve(database, budget, **other)


def test_months_are_new_at_their_first_moment_and_sessions_are_not(database: Database) -> None:
    december = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
    reserve(database, Budget(), cost_microdollars=900_000)
    for budget in (Budget(month=1.0), Budget(repository=1.0)):
        with pytest.raises(ModelFailure):
            reserve(database, budget, december - 1)
    reserve(database, Budget(month=1.0, repository=1.0), december)
    with pytest.raises(ModelFailure, match=r"budget\.session"):
        reserve(database, Budget(session=1.0), december)


def test_writers_of_two_processes_never_spend_the_same_money(database: Database, place: Path) -> None:
    other = Database.open(f"sqlite:///{place}/fordjent.db")
    call = msgspec.structs.replace(CALL, cost_microdollars=100_000)
    asked = [
        each.submit(model_calls.reserve, call, Budget(month=1.0), NOW)
        for _ in range(10)
        for each in (database, other)
    ]
    granted = [future for future in asked if future.exception() is None]
    other.close()
    assert len(granted) == 10
    assert sum(row.cost_microdollars for row in rows(database)) == 1_000_000


def test_a_reservation_whose_process_was_killed_stays_spent_and_is_settled_after_a_while(
    database: Database,
) -> None:
    reserve(database, Budget())
    reserve(database, Budget(), NOW + LEFT_OVER_SECONDS + 1, key="another")
    first, second = rows(database)
    assert (first.state, second.state) == ("failed", "reserved")
    assert "counts as spent" in first.error
    with pytest.raises(ModelFailure):
        reserve(database, Budget(session=0.5), NOW + 2 * LEFT_OVER_SECONDS)


# ---- calls


def ask(database: Database, endpoint: ModelEndpoint, budget: Budget | None = None, **settings: Any) -> None:
    async def asked() -> None:
        models = Models(configured({"main": provider(endpoint.url, **settings)}), str)
        payer = Payer("acme/widget/issues/1", "run-1", "acme/widget", "pm")
        model = MeteredModel(models.of("pm"), database, budget or Budget(), payer)
        try:
            await model.answer([user("Add a file.")], [])
        finally:
            await models.aclose()

    asyncio.run(asked())


def test_a_call_is_a_row_with_what_it_really_took(database: Database) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 300}}
    with ModelEndpoint(refuses(500), says("Done.", usage=usage)) as endpoint:
        ask(database, endpoint)
    [row] = rows(database)
    assert (row.state, row.key, row.run, row.role, row.turn) == (
        "answered",
        "acme/widget/issues/1",
        "run-1",
        "pm",
        1,
    )
    assert (row.tokens_in, row.tokens_out, row.tokens_cached, row.retries) == (900, 50, 300, 1)
    assert (row.provider, row.model, row.cost_microdollars) == ("main", "stand-in", 1000)
    assert row.latency_seconds > 0


def test_a_call_that_could_go_over_the_budget_is_not_made(database: Database) -> None:
    with ModelEndpoint(says("Done.")) as endpoint:
        with pytest.raises(ModelFailure) as refused:
            ask(database, endpoint, Budget(session=0.0019))  # 1000 tokens out may cost 2000 micro-dollars
        assert endpoint.requests == []
        ask(database, endpoint, Budget(session=0.0021))
    assert refused.value.kind == "budget"
    assert rows(database)[0].cost_microdollars == 120, "settled, it is what it was"


def test_a_call_that_failed_costs_what_its_attempts_cost(database: Database) -> None:
    with ModelEndpoint(says("")) as endpoint, pytest.raises(ModelFailure):
        ask(database, endpoint, max_retries=1)
    [row] = rows(database)
    assert (row.state, row.cost_microdollars, row.tokens_in) == ("failed", 2 * 120, 200)
    assert row.error.startswith("exhausted: ")
    with ModelEndpoint(refuses(401)) as endpoint, pytest.raises(ModelFailure):
        ask(database, endpoint)
    assert (rows(database)[1].cost_microdollars, rows(database)[1].error[:5]) == (0, "auth:")


def test_estimated_usage_is_said_in_the_row(database: Database) -> None:
    with ModelEndpoint(says("Done.", usage={})) as endpoint:
        ask(database, endpoint)
    assert rows(database)[0].error == "usage estimated"


def test_a_call_that_is_cancelled_stays_reserved_as_spent(database: Database) -> None:
    async def cancelled(endpoint: ModelEndpoint) -> None:
        models = Models(configured({"main": provider(endpoint.url)}), str)
        model = MeteredModel(models.of("pm"), database, Budget(), Payer("k", "r", "a/b", "pm"))
        task = asyncio.create_task(model.answer([user("Hello.")], []))
        while not endpoint.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        await models.aclose()

    with ModelEndpoint(Does(way="hang")) as endpoint:
        asyncio.run(cancelled(endpoint))
    database.submit(lambda _: None).result()
    [row] = rows(database)
    assert (row.state, row.error) == ("failed", "cancelled; what was reserved counts as spent")
    assert row.cost_microdollars >= 2000


def test_the_dearest_that_may_answer_is_what_is_reserved(database: Database) -> None:
    async def asked(first: ModelEndpoint) -> None:
        providers = {
            "main": provider(first.url, fallback="dear"),
            "dear": provider(first.url, output_usd_per_million=500.0),
        }
        models = Models(configured(providers), str)
        payer = Payer("k", "r", "a/b", "pm")
        with pytest.raises(ModelFailure, match=r"may cost \$0\.50"):
            await MeteredModel(models.of("pm"), database, Budget(month=0.4), payer).answer([user("x")], [])
        await models.aclose()

    with ModelEndpoint(says("Done.")) as endpoint:
        asyncio.run(asked(endpoint))


# ---- prices that nobody knows

UNKNOWN = {"input_usd_per_million": None, "output_usd_per_million": None}
FREE = {"input_usd_per_million": 0.0, "output_usd_per_million": 0.0}


@pytest.mark.parametrize("budget", [Budget(session=1.0), Budget(repository=1.0), Budget(month=1.0)])
@pytest.mark.parametrize("unknown", [UNKNOWN, {"output_usd_per_million": None}], ids=["both", "written"])
def test_a_model_without_a_price_is_not_asked_while_any_budget_is_set(
    database: Database, budget: Budget, unknown: dict[str, Any]
) -> None:
    with ModelEndpoint(says("Done.")) as endpoint, pytest.raises(ModelFailure) as refused:
        ask(database, endpoint, budget, **unknown)
    assert endpoint.requests == [] and rows(database) == []
    assert (refused.value.kind, refused.value.retry) == ("budget", False)
    told = f"{refused.value.message} {refused.value.hint}"
    for word in (
        "providers.main.input_usd_per_million",
        "providers.main.output_usd_per_million",
        "0 declares",
    ):
        assert word in told


def test_a_fallback_without_a_price_holds_up_its_line(database: Database) -> None:
    async def asked(endpoint: ModelEndpoint) -> None:
        providers = {
            "main": provider(endpoint.url, fallback="other"),
            "other": provider(endpoint.url, **UNKNOWN),
        }
        models = Models(configured(providers), str)
        model = MeteredModel(models.of("pm"), database, Budget(month=9.0), Payer("k", "r", "a/b", "pm"))
        with pytest.raises(ModelFailure, match=r"providers\.other"):
            await model.answer([user("x")], [])
        await models.aclose()

    with ModelEndpoint(says("Done.")) as endpoint:
        asyncio.run(asked(endpoint))
        assert endpoint.requests == []


def test_without_budgets_a_model_without_a_price_runs(database: Database) -> None:
    with ModelEndpoint(says("Done.")) as endpoint:
        ask(database, endpoint, **UNKNOWN)
    assert [(row.state, row.cost_microdollars) for row in rows(database)] == [("answered", 0)]


def test_a_model_that_is_declared_free_goes_on_when_the_budget_is_used_up(database: Database) -> None:
    reserve(database, Budget(), key="acme/widget/issues/1", cost_microdollars=2_000_000)
    with ModelEndpoint(says("Done.")) as endpoint:
        ask(database, endpoint, Budget(session=1.0), model="gpt-4o", **FREE)
    assert (rows(database)[-1].state, rows(database)[-1].cost_microdollars) == ("answered", 0)


def test_the_names_of_models_without_a_price_and_of_those_given_away() -> None:
    providers = {
        "priced": provider("http://h/v1"),
        "listed": provider("http://h/v1", model="gpt-4o", **UNKNOWN),
        "unknown": provider("http://h/v1", **UNKNOWN),
        "half": provider("http://h/v1", input_usd_per_million=None),
        "free": provider("http://h/v1", **FREE),
        "given": provider("http://h/v1", model="gpt-4o", **FREE),
        "script": provider("scripted:model.json", **UNKNOWN),
    }
    assert prices.unknown(providers) == ["unknown", "half"]
    assert prices.given_away(providers) == ["given"]
