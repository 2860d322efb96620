"""Issues that are split into others: when all of those are done, their pm sums up, and they are closed.

A parent is a link and holds nothing. The pm is told once of each set of parts: where it makes more of
them, they are waited for, and it is told again. A parent that nobody works on is closed with a comment;
one with a session that makes a pull request of its own is left to that.
"""

from __future__ import annotations

import hashlib
import time

from sqlalchemy import Connection

from fordjent import posting
from fordjent.context import Context
from fordjent.deciding.actions import Input
from fordjent.forge import issues
from fordjent.forge.errors import ForgeError, NotFound, Unreachable
from fordjent.forge.types import Issue
from fordjent.roles.roles import detect
from fordjent.scheduling import closing, references
from fordjent.session_key import SessionKey
from fordjent.store import inputs, parts, sessions
from fordjent.store.parts import Whole
from fordjent.store.sessions import Session

PM = "pm"
LISTED = 50


async def follow(context: Context, repository: str) -> None:
    """
    Raises:
        Unreachable: the forge does not answer.
    """
    for whole in await context.database.read(parts.done, repository):
        key = SessionKey(repository, "issues", whole.number)
        try:
            await _follow(context, key, whole)
        except Unreachable:
            raise
        except ForgeError as error:
            context.log.warning("whole.not_followed", issue=str(key), why=error.message)


async def _follow(context: Context, key: SessionKey, whole: Whole) -> None:
    session = await context.database.read(sessions.get, str(key))
    if session and (session.role != PM or _is_busy(session)):
        return
    digest = hashlib.sha256(",".join(map(str, whole.parts)).encode()).hexdigest()[:20]
    if f"parts:{digest}" in await context.database.read(inputs.sources, str(key), "parts:"):
        if session and session.state == "completed":
            await closing.close_once(context, key, f"{key}:parts:{digest}:closed", _said(whole))
        return
    issue = await _still_so(context, key, whole)
    if issue is None:
        return
    if session:
        await _tell_pm(context, key, whole, digest)
    elif detect(issue.title, issue.label_names) is None:
        await posting.comment(context, context.forge, key, f"{key}:parts:{digest}:said", _said(whole))
        await closing.close_once(context, key, f"{key}:parts:{digest}:closed", _said(whole))


def _is_busy(session: Session) -> bool:
    """It may be making more parts."""
    return session.state in ("created", "working") or session.ready_at is not None


async def _still_so(context: Context, key: SessionKey, whole: Whole) -> Issue | None:
    """The whole, where the forge has it open and all its parts closed."""
    try:
        issue = await issues.get(context.forge, key.repository, key.number)
        if issue.state != "open" or issue.is_pull:
            return None
        for number in whole.parts:
            part = await issues.get(context.forge, key.repository, number)
            is_part = references.parent(part.body, key.repository) == key.number
            if part.state == "open" and is_part:
                return None
    except NotFound:
        return None
    return issue


async def _tell_pm(context: Context, key: SessionKey, whole: Whole, digest: str) -> None:
    text = (
        f"{_said(whole)} Look at what came of them (forgejo_get_sub_issues, forgejo_get_issue), and say in one "
        "comment what is there now. Make a sub-issue for what is still missing; without one, this issue is "
        "closed after your comment."
    )
    told = Input(kind="parts", source=f"parts:{digest}", text=text)

    def write(connection: Connection, now: float) -> bool:
        return inputs.feed(connection, str(key), PM, told, None, now, 0.0, by_person=False)

    if await context.database.write(write, time.time()):
        context.bus.woke("sessions")


def _said(whole: Whole) -> str:
    shown = ", ".join(f"#{number}" for number in whole.parts[:LISTED])
    more = len(whole.parts) - LISTED
    return f"All parts of this are done: {shown}{f' and {more} more' if more > 0 else ''}."
