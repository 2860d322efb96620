"""What models have cost, from the sums that the database keeps (`spending`), in micro-dollars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, func, select

from fordjent.store.budgets import month_start
from fordjent.store.schema import model_calls, spending

DAY_SECONDS = 86400

By = Literal["provider", "model", "role", "repository", "key"]


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


def day_of(at: float) -> int:
    """The day in UTC, counted from 1970."""
    return int(at // DAY_SECONDS)


def in_all(connection: Connection, since_day: int = 0) -> Sum:
    return _sum("", connection.execute(select(*_SUMS).where(spending.c.day >= since_day)).one())


def of_key(connection: Connection, key: str) -> Sum:
    return _sum(key, connection.execute(select(*_SUMS).where(spending.c.key == key)).one())


def by(connection: Connection, what: By, limit: int, since_day: int = 0) -> list[Sum]:
    """The dearest first."""
    name = spending.c[what]
    rows = connection.execute(
        select(name, *_SUMS)
        .where(spending.c.day >= since_day)
        .group_by(name)
        .order_by(func.sum(spending.c.cost_microdollars).desc(), name)
        .limit(limit)
    )
    return [Sum(*row) for row in rows]


def by_day(connection: Connection, first: int, last: int) -> list[tuple[int, int]]:
    """Day and cost, of each day from the first to the last."""
    cost = func.sum(spending.c.cost_microdollars)
    rows = connection.execute(
        select(spending.c.day, cost).where(spending.c.day.between(first, last)).group_by(spending.c.day)
    )
    found: dict[int, int] = {day: spent for day, spent in rows}
    return [(day, found.get(day, 0)) for day in range(first, last + 1)]


def of_month(connection: Connection, now: float) -> int:
    """As budget.month counts it: what is reserved for calls that are being made is spent too."""
    return in_all(connection, day_of(month_start(now))).cost_microdollars + reserved(connection, now)


def reserved(connection: Connection, now: float) -> int:
    """This month, for calls that are not over."""
    total = func.coalesce(func.sum(model_calls.c.cost_microdollars), 0)
    open_ones = (model_calls.c.state == "reserved") & (model_calls.c.at >= month_start(now))
    return int(connection.execute(select(total).where(open_ones)).scalar_one())


def _sum(name: str, row: Iterable[int]) -> Sum:
    return Sum(name, *row)


def _summed(name: str) -> ColumnElement[int]:
    return func.coalesce(func.sum(spending.c[name]), 0)


_SUMS = [_summed(name) for name in Sum.__struct_fields__[1:]]
