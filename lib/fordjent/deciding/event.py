"""A delivery as an event: what happened, to what, by whom."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from fordjent.deciding import payload
from fordjent.deciding.payload import Payload
from fordjent.session_key import is_repository
from harness.errors import BadData

Subject = Literal["issue", "pull", "comment", "review", "push", "other"]
Verdict = Literal["approved", "rejected", "comment"]

_REVIEWS: dict[str, Verdict] = {
    "pull_request_review_approved": "approved",
    "pull_request_review_rejected": "rejected",
    "pull_request_review_comment": "comment",
    "pull_request_approved": "approved",
    "pull_request_rejected": "rejected",
    "pull_request_comment": "comment",
}
"""By the precise name of the event, and by the coarse one that is all an old server sends."""

_DRAFT_PREFIXES = ("wip:", "[wip]")
"""Forgejo's, as a server has them that was not told others."""


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    body: str
    author: str


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """`id` 0: the document does not tell it."""

    verdict: Verdict
    body: str
    author: str
    id: int = 0


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """`was_draft`: this event ended that it was a draft."""

    head: str
    head_commit: str
    head_repository: str
    base: str
    merged: bool
    draft: bool
    was_draft: bool
    author: str


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """`state`: open, closed or merged. `at`: when the issue, pull request or comment last changed, in seconds since 1970.

    `head_message`: of the newest commit of a push. `is_pull` None: the document does not say. `author` is who opened the issue or pull
    request, `sender` who made this happen.
    """

    kind: str
    subject: Subject
    action: str
    repository: str
    sender: str
    number: int = 0
    is_pull: bool | None = None
    title: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    state: str = ""
    author: str = ""
    comment: Comment | None = None
    review: Review | None = None
    pull: Pull | None = None
    default_branch: str = ""
    ref: str = ""
    before: str = ""
    after: str = ""
    head_message: str = ""
    at: float = 0.0

    @property
    def name(self) -> str:
        """What the table of decisions has it under: issue.opened, pull.merged, push."""
        if self.subject == "pull" and self.action == "closed" and self.state == "merged":
            return "pull.merged"
        return f"{self.subject}.{self.action}" if self.action else self.subject


def read(event_type: str, body: bytes) -> Event:
    """The event in a delivery's JSON document. `event_type`: X-Forgejo-Event-Type.

    Raises:
        BadData: no such document, or of no repository.
    """
    try:
        document = msgspec.json.decode(body, type=Payload)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadData(f"a delivery that is no document of Forgejo's: {error}") from error
    repository = document.repository.full_name if document.repository else ""
    if not is_repository(repository):
        raise BadData(f"a delivery about no repository: {repository!r}")
    subject = _subject(event_type, document)
    about = document.issue or document.pull_request or payload.Issue()
    _check(subject, document, about.number)
    return Event(
        kind=event_type,
        subject=subject,
        action=document.action or "",
        repository=repository,
        sender=_login(document.sender),
        number=about.number,
        is_pull=_is_pull(event_type, document),
        title=about.title,
        body=about.body or "",
        labels=_labels(document, about.labels or []),
        assignees=tuple(user.login for user in about.assignees or ()),
        state=_state(document),
        author=_login(about.user),
        comment=_comment(document.comment),
        review=_review(event_type, document),
        pull=_pull(document),
        default_branch=document.repository.default_branch if document.repository else "",
        ref=document.ref or "",
        before=document.before or "",
        after=document.after or "",
        head_message=(document.head_commit.message or "") if document.head_commit else "",
        at=_seconds(document.comment.updated_at if document.comment else about.updated_at),
    )


def guess_type(body: bytes) -> str:
    """The event's type from what its document holds, where nobody says it.

    Raises:
        BadData: that tells nothing.
    """
    try:
        document = msgspec.json.decode(body, type=Payload)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadData(f"a delivery that is no document of Forgejo's: {error}") from error
    if document.comment:
        return "issue_comment"
    if document.pull_request:
        return (
            document.review.type if document.review and document.review.type in _REVIEWS else "pull_request"
        )
    if document.issue:
        return "issues"
    if document.ref and document.after:
        return "push"
    raise BadData("the document does not tell its event's type", hint="name it with --event-type")


def _check(subject: Subject, document: Payload, number: int) -> None:
    """
    Raises:
        BadData: what the event is about is missing.
    """
    if subject in ("push", "other"):
        return
    if number < 1 or (subject in ("pull", "review") and document.pull_request is None):
        raise BadData(f"a delivery about a {subject} that it does not have")


def _subject(event_type: str, document: Payload) -> Subject:
    if event_type == "push":
        return "push"
    if document.comment:
        return "comment"
    if event_type in _REVIEWS:
        return "review"
    if event_type == "pull_request" or event_type.startswith("pull_request_"):
        return "pull"
    if event_type == "issues" or event_type.startswith("issue_"):
        return "issue"
    return "other"


def _is_pull(event_type: str, document: Payload) -> bool | None:
    if document.is_pull is not None:
        return document.is_pull
    if document.pull_request or (document.issue and document.issue.pull_request):
        return True
    return None if event_type == "issue_comment" else event_type.startswith("pull_request")


def _state(document: Payload) -> str:
    about = document.pull_request or document.issue
    if about is None:
        return ""
    mark = about.pull_request if isinstance(about, payload.Issue) else about
    return "merged" if mark and mark.merged else about.state


def _labels(document: Payload, labels: list[payload.Named]) -> tuple[str, ...]:
    """`label_cleared` is sent with the labels that there were."""
    return () if document.action == "label_cleared" else tuple(label.name for label in labels)


def _comment(comment: payload.Comment | None) -> Comment | None:
    if comment is None:
        return None
    return Comment(id=comment.id, body=comment.body or "", author=_login(comment.user))


def _review(event_type: str, document: Payload) -> Review | None:
    if event_type not in _REVIEWS or document.comment:
        return None
    said = document.review or payload.Review()
    return Review(verdict=_REVIEWS[event_type], body=said.content or "", author=_login(document.sender))


def _pull(document: Payload) -> Pull | None:
    pull = document.pull_request
    if pull is None:
        return None
    head, base = pull.head or payload.Branch(), pull.base or payload.Branch()
    old = document.changes.title.from_ if document.changes and document.changes.title else None
    return Pull(
        head=head.ref,
        head_commit=head.sha,
        head_repository=head.repo.full_name if head.repo else "",
        base=base.ref,
        merged=bool(pull.merged),
        draft=bool(pull.draft),
        was_draft=not pull.draft and (old or "").lower().startswith(_DRAFT_PREFIXES),
        author=_login(pull.user),
    )


def _login(user: payload.User | None) -> str:
    return user.login if user else ""


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0
