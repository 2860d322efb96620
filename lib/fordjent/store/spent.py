"""What models have cost, from the sums that the database keeps (`spending`), in micro-dollars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, func, select

from fordjent.store.budgets import day_of, month_start
from fordjent.store.schema import RESERVED, daily_spending, model_calls, spending

By = Literal["provider", "model", "role", "repository"]


class Sum(msgspec.Struct):
    """Of the calls that are over. `name`: of what they are summed by."""

    name: str = ""
    calls: int = 0
    failed: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_microdollars: int = 0


def in_all(connection: Connection, since_day: int = 0) -> Sum:
    chosen = select(*_sums(daily_spending)).where(daily_spending.c.day >= since_day)
    return _sum("", connection.execute(chosen).one())


def of_key(connection: Connection, key: str) -> Sum:
    return _sum(key, connection.execute(select(*_sums(spending)).where(spending.c.key == key)).one())


def by(connection: Connection, what: By, limit: int, since_day: int = 0) -> list[Sum]:
    """The dearest first."""
    name = daily_spending.c[what]
    rows = connection.execute(
        select(name, *_sums(daily_spending))
        .where(daily_spending.c.day >= since_day)
        .group_by(name)
        .order_by(func.sum(daily_spending.c.cost_microdollars).desc(), name)
        .limit(limit)
    )
    return [Sum(*row) for row in rows]


class OfModel(msgspec.Struct):
    provider: str
    model: str
    role: str
    sums: Sum


def by_model_and_role(connection: Connection) -> list[OfModel]:
    columns = [daily_spending.c[name] for name in ("provider", "model", "role")]
    rows = connection.execute(select(*columns, *_sums(daily_spending)).group_by(*columns).order_by(*columns))
    return [OfModel(provider, model, role, _sum("", sums)) for provider, model, role, *sums in rows]


def by_session(connection: Connection, limit: int) -> list[Sum]:
    """Keys for names, the dearest first."""
    cost = func.sum(spending.c.cost_microdollars)
    dearest = (
        select(spending.c.key).group_by(spending.c.key).order_by(cost.desc(), spending.c.key).limit(limit)
    )
    return [of_key(connection, key) for key in connection.scalars(dearest)]


def by_day(connection: Connection, first: int, last: int) -> list[tuple[int, int]]:
    """Day and cost, of each day from the first to the last."""
    day, cost = daily_spending.c.day, func.sum(daily_spending.c.cost_microdollars)
    rows = connection.execute(select(day, cost).where(day.between(first, last)).group_by(day))
    found: dict[int, int] = {day: spent for day, spent in rows}
    return [(day, found.get(day, 0)) for day in range(first, last + 1)]


def of_month(connection: Connection, now: float) -> int:
    """As budget.month counts it: what is reserved for calls that are being made is spent too."""
    return in_all(connection, day_of(month_start(now))).cost_microdollars + reserved(connection, now)


def reserved(connection: Connection, now: float) -> int:
    """This month, for calls that are not over."""
    total = func.coalesce(func.sum(model_calls.c.cost_microdollars), 0)
    open_ones = RESERVED & (model_calls.c.at >= month_start(now))
    return int(connection.execute(select(total).where(open_ones)).scalar_one())


def _sum(name: str, row: Iterable[int]) -> Sum:
    return Sum(name, *row)


def _sums(table: Table) -> list[ColumnElement[int]]:
    return [func.coalesce(func.sum(table.c[name]), 0) for name in Sum.__struct_fields__[1:]]
