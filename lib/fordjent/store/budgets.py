"""What is spent of each budget, and whether a call may still be paid from them, in micro-dollars.

What is reserved for calls that are being made counts as spent. Months begin on their first day at 00:00
UTC, wherever the server stands: so they are the same for all servers of a database, and no summer time moves
them. A call belongs to the month in which it was begun. A clock that is set back gives no money back: what
seems to be of the future counts too.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, func, select, true

from fordjent.config import Budget
from fordjent.models.model import ModelFailure
from fordjent.store.schema import RESERVED, model_calls, spending
from harness.clock import timestamp

DAY_SECONDS = 86400
MICRO = 1_000_000

Name = Literal["session", "repository", "month"]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One budget. `of`: the session's key or the repository; "": of everything. `begins_anew_at`: seconds
    since 1970; 0: never."""

    name: Name
    of: str
    limit_microdollars: int
    spent_microdollars: int
    begins_anew_at: float = 0.0

    @property
    def left_microdollars(self) -> int:
        return max(self.limit_microdollars - self.spent_microdollars, 0)


def check(
    connection: Connection, budget: Budget, key: str, repository: str, cost_microdollars: int, now: float
) -> None:
    """
    Raises:
        ModelFailure: kind budget; a call that costs that could exceed one. Says which, and the way out.
    """
    for standing in standings(connection, budget, key, repository, now):
        if standing.left_microdollars < cost_microdollars:
            raise _reached(standing, cost_microdollars)


def standings(
    connection: Connection, budget: Budget, key: str, repository: str, now: float
) -> list[Standing]:
    """Of the budgets that are set and that a call of this session is paid from."""
    found = []
    if budget.session:
        found.append(
            Standing(
                name="session",
                of=key,
                limit_microdollars=_micro(budget.session),
                spent_microdollars=of_session(connection, key),
            )
        )
    if budget.repository:
        found.append(_of_repository(connection, budget, repository, now))
    if month := of_month(connection, budget, now):
        found.append(month)
    return found


def of_month(connection: Connection, budget: Budget, now: float) -> Standing | None:
    """None: there is no such budget."""
    if not budget.month:
        return None
    return Standing(
        name="month",
        of="",
        limit_microdollars=_micro(budget.month),
        spent_microdollars=_spent(connection, month_start(now)),
        begins_anew_at=next_month(now),
    )


def of_repositories(connection: Connection, budget: Budget, now: float) -> list[Standing]:
    """Of each repository that has spent something this month, the dearest first."""
    if not budget.repository:
        return []
    since = month_start(now)
    names = set(
        connection.scalars(select(spending.c.repository).where(spending.c.day >= day_of(since)).distinct())
    )
    names.update(connection.scalars(select(model_calls.c.repository).where(_open(since)).distinct()))
    found = [_of_repository(connection, budget, name, now) for name in names]
    return sorted(found, key=lambda one: (-one.spent_microdollars, one.of))


def of_session(connection: Connection, key: str) -> int:
    """Since it began."""
    return _spent(connection, None, spending.c.key == key, model_calls.c.key == key)


def day_of(at: float) -> int:
    """The day in UTC, counted from 1970."""
    return int(at // DAY_SECONDS)


def month_start(now: float) -> float:
    """The first moment of the month of `now`, in UTC."""
    at = datetime.fromtimestamp(now, UTC)
    return datetime(at.year, at.month, 1, tzinfo=UTC).timestamp()


def next_month(now: float) -> float:
    """The first moment of the month after it, in UTC."""
    at = datetime.fromtimestamp(now, UTC)
    year, month = (at.year + 1, 1) if at.month == 12 else (at.year, at.month + 1)
    return datetime(year, month, 1, tzinfo=UTC).timestamp()


def _of_repository(connection: Connection, budget: Budget, repository: str, now: float) -> Standing:
    return Standing(
        name="repository",
        of=repository,
        limit_microdollars=_micro(budget.repository),
        spent_microdollars=_spent(
            connection,
            month_start(now),
            spending.c.repository == repository,
            model_calls.c.repository == repository,
        ),
        begins_anew_at=next_month(now),
    )


def _spent(
    connection: Connection,
    since: float | None,
    ended: ColumnElement[bool] | None = None,
    reserved: ColumnElement[bool] | None = None,
) -> int:
    """By the sums that the database keeps of calls that are over, and the calls that are not."""
    of_day = true() if since is None else spending.c.day >= day_of(since)
    over = select(_sum(spending.c.cost_microdollars)).where(of_day, true() if ended is None else ended)
    going_on = select(_sum(model_calls.c.cost_microdollars)).where(
        _open(since), true() if reserved is None else reserved
    )
    return int(connection.scalar(over) or 0) + int(connection.scalar(going_on) or 0)


def _open(since: float | None) -> ColumnElement[bool]:
    return RESERVED if since is None else RESERVED & (model_calls.c.at >= since)


def _sum(of: ColumnElement[int]) -> ColumnElement[int]:
    return func.coalesce(func.sum(of), 0)


def _micro(dollars: float) -> int:
    return round(dollars * MICRO)


def _reached(standing: Standing, cost_microdollars: int) -> ModelFailure:
    name, of = f"budget.{standing.name}", f" of {standing.of}" if standing.name == "repository" else ""
    way_out = f"raise {name} in config.toml"
    resume_at = timestamp(standing.begins_anew_at) if standing.begins_anew_at else ""
    if standing.begins_anew_at:
        begins = datetime.fromtimestamp(standing.begins_anew_at, UTC)
        way_out += f", or wait until it begins anew on {begins:%Y-%m-%d} at 00:00 UTC"
    return ModelFailure(
        "budget",
        f"{name}{of} of ${standing.limit_microdollars / MICRO:.2f} is reached: "
        f"${standing.spent_microdollars / MICRO:.4f} are spent"
        f"{' this month' if standing.begins_anew_at else ''}, "
        f"and the next call may cost ${cost_microdollars / MICRO:.4f}",
        hint=way_out,
        resume_at=resume_at,
    )
