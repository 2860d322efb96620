"""What the forge has: its lists, and who did what the lists do not tell."""

from __future__ import annotations

from datetime import UTC, datetime

from fordjent.context import Context
from fordjent.forge import branches, comments, issues, pulls, reviews, timeline
from fordjent.forge.errors import NotFound
from fordjent.forge.types import Issue, Pull
from fordjent.reconciling.comparing import Listed, Missed, seconds
from fordjent.reconciling.documents import Sender

NOBODY = Sender("")
MARGIN_SECONDS = 3600.0
_TYPES = {"closed": ("close", "merge_pull"), "reopened": ("reopen",), "assignees": ("assignees",)}


async def lists(context: Context, repository: str, since: float, until: float) -> Listed:
    """
    Raises:
        Unreachable: the forge is away.
        NotFound: it has no such repository.
    """
    forge = context.forge
    moment = datetime.fromtimestamp(since, UTC)
    found_issues = [one async for one in issues.list_open(forge, repository)]
    found_pulls = [one async for one in pulls.list_open(forge, repository)]
    said = [one async for one in comments.list_repository(forge, repository, moment)]
    reviewed = {
        one.number: tuple(await reviews.list_all(forge, repository, one.number))
        for one in found_pulls
        if seconds(one.updated_at) >= since
    }
    return Listed(
        since=since,
        until=until,
        issues=tuple(found_issues),
        pulls=tuple(found_pulls),
        comments=tuple(said),
        reviews=reviewed,
    )


async def sender(context: Context, repository: str, one: Missed) -> Sender:
    """Who did it: for what starts work, somebody whose right to do so can be asked."""
    if one.comment:
        return Sender(one.comment.user.login)
    if one.review:
        return Sender(one.review.user.login)
    if one.what == "opened":
        about = one.issue or one.pull
        return Sender(about.user.login if about else "")
    if one.what == "head" and one.pull:  # who pushed is not told: its author, whose right is the smaller one
        return Sender(one.pull.user.login, await _head_message(context, repository, one.pull))
    if one.pull and one.what in ("labels", "assignees"):  # starts nothing
        return NOBODY
    return await _by_timeline(context, repository, one)


async def closed(context: Context, repository: str, number: int, is_pull: bool) -> Issue | Pull | None:
    """What is not among the open ones any more; None: it is there no more, or open again."""
    try:
        about: Issue | Pull
        if is_pull:
            about = await pulls.get(context.forge, repository, number)
        else:
            about = await issues.get(context.forge, repository, number)
    except NotFound:
        return None
    return about if about.state != "open" else None


async def _head_message(context: Context, repository: str, pull: Pull) -> str:
    """Of its newest commit; "" where its branch is not in this repository."""
    if not pull.is_from_here:
        return ""
    try:
        branch = await branches.get(context.forge, repository, pull.head.ref)
    except NotFound:
        return ""
    return branch.commit.message if branch.commit.id == pull.head.sha else ""


async def _by_timeline(context: Context, repository: str, one: Missed) -> Sender:
    """The last who did it; nobody where the server does not tell: that starts nothing."""
    since = datetime.fromtimestamp((one.before.seen_at if one.before else 0.0) - MARGIN_SECONDS, UTC)
    try:
        happened = await timeline.since(context.forge, repository, one.number, since)
    except NotFound:
        return NOBODY
    if one.what == "labels":
        before = set(one.before.labels) if one.before else set()
        now = set(one.issue.label_names if one.issue else ()) - before
        by = [each for each in happened if each.label_set in now and each.label_set]
    else:
        by = [each for each in happened if each.type in _TYPES[one.what]]
    return Sender(by[-1].user.login) if by else NOBODY
