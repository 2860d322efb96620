"""How a session shows on the forge: labels, one status comment that is edited, and reactions.

All of it is derived from what the database has, and repeatable. It is courtesy: where the forge refuses
it (a locked conversation, a missing right), the work goes on; where the forge is away, it waits. A
reaction is not waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

from fordjent.context import Context
from fordjent.forge import reactions
from fordjent.forge.errors import ForgeError, Unreachable
from fordjent.sessions import labels_of_state, status_comment
from fordjent.store import sessions
from harness.effects import reached


async def show(context: Context, key: str) -> None:
    """Labels and status comment, as the session is now.

    Raises:
        Unreachable: the forge does not answer.
    """
    session = await context.database.read(sessions.get, key)
    assert session
    await _unless_refused(context, key, labels_of_state.follow(context, session))
    reached("labels-set")
    await _unless_refused(context, key, status_comment.follow(context, session))
    reached("status-said")
    await context.database.write(sessions.note, key, shown=session.look)


async def react(context: Context, key: str, sources: Iterable[str], *, on: str, off: str = "") -> None:
    """Put a reaction where the inputs of a run stand ("comment:17": there; else on issue or pull request)."""
    session = await context.database.read(sessions.get, key)
    assert session
    places = {comment_of(source) for source in sources}
    for comment in sorted(places):
        where = (context.forge, session.repository, session.number)
        if off:
            await _if_it_can_be(context, key, reactions.remove(*where, off, comment_id=comment))
        if on:
            await _if_it_can_be(context, key, reactions.add(*where, on, comment_id=comment))


def comment_of(source: str) -> int:
    """The comment that an input stands in; 0: it stands in none."""
    kind, _, id = source.partition(":")
    return int(id) if kind == "comment" and id.isdecimal() else 0


async def _unless_refused(context: Context, key: str, said: Awaitable[object]) -> None:
    try:
        await asyncio.wait_for(_of(said), 120)
    except Unreachable:
        raise
    except ForgeError as error:
        context.log.warning("session.not_shown", session=key, why=error.message)


async def _if_it_can_be(context: Context, key: str, said: Awaitable[object]) -> None:
    try:
        await _unless_refused(context, key, said)
    except Unreachable as error:
        context.log.warning("session.not_shown", session=key, why=error.message)


async def _of(said: Awaitable[object]) -> None:
    await said
