"""How a session shows on the forge: labels, one status comment that is edited, and reactions.

All of it is derived from what the database has, and repeatable. It is courtesy, and the work goes on without:
what the forge refuses (a locked conversation, a missing right) is left; where it does not answer, labels and
status comment are brought round later (sessions.timers). A reaction is not waited for.
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

LONGEST_SECONDS = 120.0


async def show(context: Context, key: str) -> bool:
    """Labels and status comment, as the session is now. False: the forge did not answer, it is to be done again."""
    session = await context.database.read(sessions.get, key)
    assert session
    labelled = await _is_settled(context, key, labels_of_state.follow(context, session))
    reached("labels-set")
    said = await _is_settled(context, key, status_comment.follow(context, session))
    reached("status-said")
    if labelled and said:
        await context.database.write(sessions.note, key, shown=session.look)
    return labelled and said


async def react(context: Context, key: str, sources: Iterable[str], *, on: str, off: str = "") -> None:
    """Put a reaction where the inputs of a run stand ("comment:17": there; else on issue or pull request)."""
    session = await context.database.read(sessions.get, key)
    assert session
    places = {comment_of(source) for source in sources}
    for comment in sorted(places):
        where = (context.forge, session.repository, session.number)
        if off:
            await _is_settled(context, key, reactions.remove(*where, off, comment_id=comment))
        if on:
            await _is_settled(context, key, reactions.add(*where, on, comment_id=comment))


def comment_of(source: str) -> int:
    """The comment that an input stands in; 0: it stands in none."""
    kind, _, id = source.partition(":")
    return int(id) if kind == "comment" and id.isdecimal() else 0


async def _is_settled(context: Context, key: str, said: Awaitable[object]) -> bool:
    """Whether it is done, or refused for good."""
    try:
        await asyncio.wait_for(_of(said), LONGEST_SECONDS)
    except TimeoutError:
        context.log.warning("session.not_shown", session=key, why=f"no answer in {LONGEST_SECONDS:.0f} s")
        return False
    except ForgeError as error:
        context.log.warning("session.not_shown", session=key, why=error.message)
        return not isinstance(error, Unreachable)
    return True


async def _of(said: Awaitable[object]) -> None:
    await said
