"""A row for each model call: reserved before it, settled after, and what all of them have cost.

A reservation counts as spent from the moment it is made. So budgets hold whatever happens to the
process, and two writers cannot both spend the last of one.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, insert, update

from fordjent.config import Budget
from fordjent.models.messages import Answer
from fordjent.models.model import ModelFailure
from fordjent.store import budgets
from fordjent.store.schema import RESERVED, model_calls

LEFT_OVER_SECONDS = 3600.0
"""A reservation that old is taken for that of a process that has ended; one that was not is settled all the same."""


class Call(msgspec.Struct, frozen=True):
    """What is about to be asked, and the most that it may cost. `key` is the session's, as text."""

    key: str
    run: str
    repository: str
    role: str
    turn: int
    provider: str
    model: str
    cost_microdollars: int


def reserve(connection: Connection, call: Call, budget: Budget, now: float) -> int:
    """Note that the call is being made; its id.

    Raises:
        ModelFailure: kind budget; with it a budget could be exceeded. Nothing is noted.
    """
    settle_left_over(connection, now)
    budgets.check(connection, budget, call.key, call.repository, call.cost_microdollars, now)
    row = msgspec.structs.asdict(call) | {"state": "reserved", "at": now}
    inserted = connection.execute(insert(model_calls).values(**row)).inserted_primary_key
    assert inserted is not None
    return int(inserted[0])


def settle(connection: Connection, call_id: int, answer: Answer) -> None:
    """Note what the call really took. Repeatable."""
    _end(
        connection,
        call_id,
        state="answered",
        provider=answer.provider,
        model=answer.model,
        tokens_in=answer.usage.tokens_in,
        tokens_out=answer.usage.tokens_out,
        tokens_cached=answer.usage.tokens_cached,
        cost_microdollars=answer.cost_microdollars,
        retries=answer.retries,
        latency_seconds=answer.latency_seconds,
        error="usage estimated" if answer.usage.estimated else "",
    )


def fail(connection: Connection, call_id: int, failure: ModelFailure) -> None:
    """Note that nothing came of it, and what that took."""
    _end(
        connection,
        call_id,
        state="failed",
        tokens_in=failure.spent.tokens_in,
        tokens_out=failure.spent.tokens_out,
        cost_microdollars=failure.spent_microdollars,
        error=f"{failure.kind}: {failure.message}"[:2000],
    )


def abandon(connection: Connection, call_id: int, why: str) -> None:
    """Note that its end was not waited for: what was reserved stays spent."""
    _end(connection, call_id, state="failed", error=f"{why}; what was reserved counts as spent")


def settle_left_over(connection: Connection, now: float) -> int:
    """Give up reservations of processes that have ended; how many."""
    done = connection.execute(
        update(model_calls)
        .where(RESERVED, model_calls.c.at < now - LEFT_OVER_SECONDS)
        .values(state="failed", error="its process ended; what was reserved counts as spent")
    )
    return done.rowcount


def _end(connection: Connection, call_id: int, **values: object) -> None:
    connection.execute(update(model_calls).where(model_calls.c.id == call_id).values(**values))
