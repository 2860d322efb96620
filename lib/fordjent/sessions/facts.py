"""What the forge says about an issue or pull request, for a session to be told."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import datetime

import msgspec

from fordjent import marker
from fordjent.forge import comments, issues, pulls, reviews
from fordjent.forge.errors import ForgeError, NotFound, Unreachable
from fordjent.forge.forge import Forge
from fordjent.forge.types import Issue, Pull, Review
from fordjent.scheduling import references
from fordjent.session_key import SessionKey
from fordjent.sessions.status_comment import effect_of

COMMENTS_CHARACTERS = 120_000
LONGEST_COMMENT = 30_000
REVIEWS = 20
SETTLES = 3
SIBLINGS = 50
LOOKED_THROUGH = 500
"""Issues, the newest first."""

_PARENT = re.compile(r"^\s*Parent:\s*#(\d{1,9})\b", re.IGNORECASE | re.MULTILINE)
_CLOSES = re.compile(r"\b(?:close|fix|resolve)[sd]?:?\s+#(\d{1,9})\b", re.IGNORECASE)
_VERDICTS = {"APPROVED": "approved", "REQUEST_CHANGES": "changes requested", "COMMENT": "comments"}


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A comment; `mine`: the bot wrote it."""

    id: int
    author: str
    at: str
    text: str
    mine: bool


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a line of a file; `line` 0: on none."""

    path: str
    line: int
    hunk: str
    text: str


class Reviewed(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    author: str
    at: str
    verdict: str
    text: str
    mine: bool
    remarks: tuple[Remark, ...] = ()


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """Another issue, as far as it matters here."""

    number: int
    title: str
    state: str
    text: str = ""


class Branches(msgspec.Struct, frozen=True, kw_only=True):
    """Of a pull request. `head_commit`: where its branch is on the forge."""

    head: str
    head_commit: str
    base: str
    from_here: bool


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is about. `comments`: the newest that fit, oldest first."""

    number: int
    is_pull: bool
    title: str
    body: str
    author: str
    state: str
    labels: tuple[str, ...]
    depends_on: tuple[int, ...] = ()
    comments: tuple[Said, ...] = ()
    comments_left_out: int = 0
    pull: Branches | None = None
    reviews: tuple[Reviewed, ...] = ()
    settles: tuple[Related, ...] = ()
    parent: Related | None = None
    siblings: tuple[Related, ...] = ()


async def gather(forge: Forge, key: SessionKey, bots: Collection[str], known: Iterable[str] = ()) -> Subject:
    """Ask for all of it. `known`: sources of inputs ("comment:17") that are told elsewhere.

    Raises:
        Unreachable: the forge does not answer.
        NotFound: there is no such issue or pull request (any more).
    """
    issue = await issues.get(forge, key.repository, key.number)
    said, left_out = await _comments(forge, key, bots, set(known))
    pull = await pulls.get(forge, key.repository, key.number) if key.is_pull else None
    parent = await _parent(forge, key.repository, issue.body)
    return Subject(
        number=issue.number,
        is_pull=key.is_pull,
        title=issue.title,
        body=marker.unmarked(issue.body),
        author=issue.user.login,
        state="merged" if pull and pull.merged else issue.state,
        labels=tuple(issue.label_names),
        depends_on=references.dependencies(issue.body, key.repository),
        comments=said,
        comments_left_out=left_out,
        pull=_branches(pull) if pull else None,
        reviews=await _reviews(forge, key, bots, set(known)) if pull else (),
        settles=await _settled(forge, key.repository, pull) if pull else (),
        parent=parent,
        siblings=await _siblings(forge, key, parent.number) if parent else (),
    )


def parent_of(body: str) -> int:
    """The number in a line `Parent: #7`; 0: there is none."""
    match = _PARENT.search(body)
    return int(match[1]) if match else 0


def settled_by(body: str) -> tuple[int, ...]:
    """The numbers after `Closes`, `Fixes`, `Resolves`."""
    return tuple(dict.fromkeys(map(int, _CLOSES.findall(body))))


async def _comments(
    forge: Forge, key: SessionKey, bots: Collection[str], known: Collection[str]
) -> tuple[tuple[Said, ...], int]:
    there = await comments.list_all(forge, key.repository, key.number)
    told = [
        one
        for one in there
        if f"comment:{one.id}" not in known and not marker.has_effect(one.body, effect_of(str(key)))
    ]
    shown: list[Said] = []
    room = COMMENTS_CHARACTERS
    for one in reversed(told):
        room -= min(len(one.body), LONGEST_COMMENT)
        if room < 0:
            break
        mine = marker.is_by_bot(one.body, one.user.login, bots)
        text = marker.unmarked(one.body) if mine else one.body
        shown.append(Said(id=one.id, author=one.user.login, at=_when(one.created_at), text=text, mine=mine))
    return tuple(shown[::-1]), len(told) - len(shown)


async def _reviews(
    forge: Forge, key: SessionKey, bots: Collection[str], known: Collection[str]
) -> tuple[Reviewed, ...]:
    """The newest, with their inline comments; what is only asked for, or not submitted, is none."""
    there = await reviews.list_all(forge, key.repository, key.number)
    told = [one for one in there if one.state in _VERDICTS and f"review:{one.id}" not in known]
    return tuple([await _review(forge, key, bots, one) for one in told[-REVIEWS:]])


async def _review(forge: Forge, key: SessionKey, bots: Collection[str], review: Review) -> Reviewed:
    inline = (
        await reviews.comments(forge, key.repository, key.number, review.id) if review.comments_count else []
    )
    return Reviewed(
        id=review.id,
        author=review.user.login,
        at=_when(review.submitted_at),
        verdict=_VERDICTS[review.state] + (" (of an older commit)" if review.stale else ""),
        text=marker.unmarked(review.body),
        mine=marker.is_by_bot(review.body, review.user.login, bots),
        remarks=tuple(
            Remark(
                path=one.path, line=one.position or one.original_position, hunk=one.diff_hunk, text=one.body
            )
            for one in inline
        ),
    )


async def _parent(forge: Forge, repository: str, body: str) -> Related | None:
    number = parent_of(body)
    return await _related(forge, repository, number) if number else None


async def _settled(forge: Forge, repository: str, pull: Pull) -> tuple[Related, ...]:
    numbers = settled_by(pull.body)[:SETTLES]
    found = [await _related(forge, repository, number) for number in numbers if number != pull.number]
    return tuple(one for one in found if one)


async def _siblings(forge: Forge, key: SessionKey, parent: int) -> tuple[Related, ...]:
    """The other parts of the same whole."""
    found: list[Related] = []
    try:
        seen = 0
        async for issue in issues.list_all(forge, key.repository, state="all"):  # a search is not up to date
            seen += 1
            if parent_of(issue.body) == parent and issue.number != key.number:
                found.append(_of(issue, with_text=False))
            if len(found) == SIBLINGS or seen == LOOKED_THROUGH:
                break
    except Unreachable:
        raise
    except ForgeError:  # context, not substance: without it the work goes on
        return tuple(found)
    return tuple(found)


async def _related(forge: Forge, repository: str, number: int) -> Related | None:
    try:
        return _of(await issues.get(forge, repository, number))
    except NotFound:
        return None


def _of(issue: Issue, *, with_text: bool = True) -> Related:
    state = "merged" if issue.pull_request and issue.pull_request.merged else issue.state
    text = marker.unmarked(issue.body) if with_text else ""
    return Related(number=issue.number, title=issue.title, state=state, text=text)


def _branches(pull: Pull) -> Branches:
    return Branches(
        head=pull.head.ref, head_commit=pull.head.sha, base=pull.base.ref, from_here=pull.is_from_here
    )


def _when(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")
