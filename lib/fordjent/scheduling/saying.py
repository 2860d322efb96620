"""What the scheduler says on issues: what only a person can mend, each of it once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from fordjent import posting
from fordjent.context import Context
from fordjent.forge.errors import ForgeError, Unreachable
from fordjent.scheduling import ground
from fordjent.scheduling.observing import Seen
from fordjent.session_key import SessionKey
from fordjent.store.waiting_issues import WaitingIssue

SHOWN = 30
"""Members of a cycle that are named."""


async def cycles(context: Context, repository: str, found: Iterable[Sequence[int]]) -> None:
    """One comment for each, at its lowest number; the same cycle is never said again."""
    for cycle in found:
        members = ",".join(map(str, sorted(cycle)))
        effect = f"{repository}:cycle:{hashlib.sha256(members.encode()).hexdigest()[:20]}"
        way = " → ".join(f"#{number}" for number in [*cycle[:SHOWN], *(["…"] if len(cycle) > SHOWN else [])])
        text = (
            f"These wait for each other: {way.replace('#…', '…')} → #{cycle[0]}. None of them can begin. Take one of the "
            f"dependencies out, or set the label `ready` on one to begin it all the same."
        )
        await _comment(context, SessionKey(repository, "issues", cycle[0]), effect, text)


async def stuck(context: Context, row: WaitingIssue, seen: Seen, blocked_by: Iterable[int]) -> None:
    """What it depends on and never comes by itself."""
    for number in blocked_by:
        thing = seen.things.get(number)
        if thing is None:
            continue
        name = seen.name(number)
        if thing.is_dropped:
            why = f"{name} was closed without being merged"
        elif thing.state == "missing":
            why = f"there is no {name} here"
        else:
            continue
        text = (
            f"This depends on {name}, and {why}. It waits until that is done, is no longer "
            "named as a dependency, or the label `ready` is set here."
        )
        await _comment(context, SessionKey.parse(row.key), f"{row.key}:stuck:{number}:{thing.state}", text)


async def waits_for_ground(context: Context, row: WaitingIssue, scaffold: int) -> None:
    effect = f"{row.key}:waits-for-ground:{scaffold}"
    await _comment(context, SessionKey.parse(row.key), effect, ground.pointer(scaffold))


async def _comment(context: Context, key: SessionKey, effect: str, text: str) -> None:
    try:
        await posting.comment(context, context.forge, key, effect, text)
    except Unreachable:
        raise
    except ForgeError as error:
        context.log.warning("schedule.not_said", issue=str(key), why=error.message)
