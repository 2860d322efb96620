"""What `fordjent-cost` tells: sums of the calls that are over, what is being spent now, and the budgets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, get_args

import msgspec
from sqlalchemy import Connection, Integer, Subquery, cast, func, literal, select

from fordjent.config import Budget
from fordjent.store import budgets
from fordjent.store.budgets import DAY_SECONDS, Standing
from fordjent.store.schema import model_calls, spending
from harness.clock import timestamp

By = Literal["model", "role", "repository", "day", "session"]
WAYS: tuple[By, ...] = get_args(By)

_PLACES: dict[By, tuple[str, ...]] = {
    "model": ("model", "provider"),
    "role": ("role",),
    "repository": ("repository",),
    "day": ("day",),
    "session": ("key",),
}
_AMOUNTS = ("calls", "failed", "retries", "tokens_in", "tokens_out", "tokens_cached", "cost_microdollars")


class Line(msgspec.Struct, kw_only=True):
    """`name`: of model, role, repository or session, or the day in UTC. `provider`: of a model. `failed`: of the
    calls; `tokens_cached`: of `tokens_in`. `price_unknown`: of a model that cost nothing, because of that."""

    name: str
    provider: str = ""
    calls: int = 0
    failed: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_microdollars: int = 0
    cost_usd: float = 0.0
    price_unknown: bool = False


class Going(msgspec.Struct, kw_only=True):
    """Calls that are being made, and what is reserved for them; it is in no line."""

    calls: int
    cost_microdollars: int
    cost_usd: float


class BudgetLine(msgspec.Struct, kw_only=True):
    """`spent_usd`: with what is reserved. `begins_anew_at`: RFC 3339."""

    name: str
    repository: str
    limit_usd: float
    spent_usd: float
    left_usd: float
    begins_anew_at: str


class Report(msgspec.Struct, kw_only=True):
    """`since` "": the beginning."""

    by: By
    since: str
    lines: list[Line]
    total: Line
    being_made: Going
    budgets: list[BudgetLine]


def report(connection: Connection, by: By, since: float, budget: Budget, now: float) -> Report:
    """The dearest first; days in their order."""
    calls = _calls(since)
    return Report(
        by=by,
        since=timestamp(since) if since else "",
        lines=_lines(connection, calls, by),
        total=_line("total", "", connection.execute(select(*_sums(calls))).one()),
        being_made=_being_made(connection),
        budgets=_budgets(connection, budget, now),
    )


def _lines(connection: Connection, calls: Subquery, by: By) -> list[Line]:
    places = [calls.c[name] for name in _PLACES[by]]
    cost = func.sum(calls.c.cost_microdollars)
    order = places if by == "day" else [cost.desc(), *places]
    rows = connection.execute(select(*places, *_sums(calls)).group_by(*places).order_by(*order))
    found = []
    for row in rows:
        name, provider = row[0], row[1] if by == "model" else ""
        found.append(_line(_date(name) if by == "day" else name, provider, row[len(places) :]))
    return found


def _calls(since: float) -> Subquery:
    """The calls that are over: as the database has summed them, where whole days are asked for."""
    names = ("key", "role", "provider", "model", "repository")
    if since % DAY_SECONDS == 0:
        summed = spending.c
        rows = select(*(summed[name] for name in (*names, "day", *_AMOUNTS)))
        return rows.where(summed.day >= int(since // DAY_SECONDS), summed.calls > 0).subquery()
    each = model_calls.c
    amounts = (each[name] for name in _AMOUNTS[2:])
    return (
        select(
            *(each[name] for name in names),
            cast(each.at / DAY_SECONDS, Integer).label("day"),
            literal(1).label("calls"),
            cast(each.state == "failed", Integer).label("failed"),
            *amounts,
        )
        .where(each.state != "reserved", each.at >= since)
        .subquery()
    )


def _sums(calls: Subquery) -> list[Any]:
    return [func.coalesce(func.sum(calls.c[name]), 0) for name in _AMOUNTS]


def _line(name: str, provider: str, amounts: Any) -> Line:
    found = dict(zip(_AMOUNTS, amounts, strict=True))
    return Line(name=name, provider=provider, **found, cost_usd=_dollars(found["cost_microdollars"]))


def _being_made(connection: Connection) -> Going:
    cost = func.coalesce(func.sum(model_calls.c.cost_microdollars), 0)
    calls, reserved = connection.execute(
        select(func.count(), cost).where(model_calls.c.state == "reserved")
    ).one()
    return Going(calls=calls, cost_microdollars=reserved, cost_usd=_dollars(reserved))


def _budgets(connection: Connection, budget: Budget, now: float) -> list[BudgetLine]:
    month = budgets.of_month(connection, budget, now)
    found = [month] if month else []
    return [_budget(one) for one in (*found, *budgets.of_repositories(connection, budget, now))]


def _budget(standing: Standing) -> BudgetLine:
    return BudgetLine(
        name=standing.name,
        repository=standing.of,
        limit_usd=_dollars(standing.limit_microdollars),
        spent_usd=_dollars(standing.spent_microdollars),
        left_usd=_dollars(standing.left_microdollars),
        begins_anew_at=timestamp(standing.begins_anew_at),
    )


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_SECONDS, UTC).date().isoformat()


def _dollars(microdollars: int) -> float:
    return microdollars / 1_000_000
