"""One look at a repository: what was missed becomes events, and what got stuck goes on.

    await reconcile(context, "acme/widget")

Everything that was found is stored in one transaction with the time up to which all is handled now, under
ids that are the same whenever it is found: a kill anywhere loses nothing, and tells nothing twice.
"""

from __future__ import annotations

import time

from msgspec.structs import replace
from sqlalchemy import Connection

from fordjent.context import Context
from fordjent.forge.errors import NotFound
from fordjent.forge.types import Issue, Pull
from fordjent.intake.delivery import Delivery
from fordjent.reconciling import asking, comparing, documents, mending
from fordjent.reconciling.comparing import Handled, Listed, Missed
from fordjent.store import counters, deliveries, handled, issues
from harness.effects import reached

OVERLAP_SECONDS = 600.0
"""The window begins so long before the last look, for clocks that differ and for what came late."""
GRACE_SECONDS = 30.0
"""What is younger may still be on its way here."""
MOST_GONE = 200
"""Of those that are closed now, asked for one by one, in one look."""


async def reconcile(context: Context, repository: str, *, grace_seconds: float = GRACE_SECONDS) -> int:
    """How much was missed. Repeatable.

    Raises:
        Unreachable: the forge is away: later.
    """
    began = time.time()
    known = await context.database.read(handled.repository, repository)
    if known is None:
        return 0
    since = max(known.set_up_at // 1, known.reconciled_at - OVERLAP_SECONDS)
    try:
        listed = await asking.lists(context, repository, since, began - grace_seconds)
    except NotFound as failure:
        context.log.warning("reconcile.not_there", repository=repository, why=failure.message)
        return 0
    seen = await context.database.read(handled.of, repository, since)
    found = comparing.missed(listed, seen)
    over, lost = await _over(context, repository, listed, seen)
    made = [
        documents.delivery(
            repository, known.default_branch, one, await asking.sender(context, repository, one)
        )
        for one in (*found, *over)
    ]
    reached("reconcile.found")
    new = await context.database.write(_store, repository, made, lost, began)
    if new:
        context.log.warning(
            "reconcile.missed", repository=repository, missed=[one.id for one in made][:50], count=new
        )
        context.bus.woke("events")
        context.bus.woke("changes")
    await mending.mend(context, repository, listed)
    return new


async def adopt(context: Context, repository: str) -> int:
    """Make events of all open issues and pull requests that no event told of; how many there were.

    Raises:
        Unreachable: the forge is away.
        NotFound: it has no such repository.
    """
    now = time.time()
    known = await context.database.read(handled.repository, repository)
    listed = replace(await asking.lists(context, repository, now, now), since=0.0)
    seen = await context.database.read(handled.of, repository, 0.0)
    made = [
        documents.delivery(
            repository,
            known.default_branch if known else "",
            one,
            await asking.sender(context, repository, one),
        )
        for one in comparing.missed(listed, seen)
        if one.what == "opened"
    ]
    return await context.database.write(_add, made, now)


async def _over(
    context: Context, repository: str, listed: Listed, seen: Handled
) -> tuple[list[Missed], list[int]]:
    """What is closed now, or merged; and the numbers of what is there no more."""
    found: list[Missed] = []
    lost: list[int] = []
    for number in comparing.gone(listed, seen)[:MOST_GONE]:
        before = seen.known[number]
        about = await asking.closed(context, repository, number, before.is_pull)
        if about is None:
            lost.append(number)
            continue
        found.append(
            Missed(
                what="closed",
                number=number,
                source=f"closed:{number}:{before.seen_at:.3f}",
                at=comparing.seconds(about.updated_at),
                issue=about if isinstance(about, Issue) else None,
                pull=about if isinstance(about, Pull) else None,
                before=before,
            )
        )
    return found, lost


def _store(connection: Connection, repository: str, made: list[Delivery], lost: list[int], now: float) -> int:
    new = _add(connection, made, now)
    if new:
        counters.add(connection, counters.MISSED, new)
    for number in lost:
        known = issues.get(connection, repository, number)
        if known:
            issues.remember(connection, replace(known, state="closed", seen_at=now))
    handled.reconciled(connection, repository, now)
    return new


def _add(connection: Connection, made: list[Delivery], now: float) -> int:
    accepted = deliveries.accept_all(connection, made, now) if made else []
    return sum(not one.duplicate for one in accepted)
