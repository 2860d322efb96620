"""What was missed: the forge's lists on one side, what was handled on the other. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal

import msgspec

from fordjent.deciding.event import Verdict
from fordjent.forge.types import Comment, Issue, Pull, Review
from fordjent.store.issues import KnownIssue

What = Literal["opened", "reopened", "closed", "labels", "assignees", "head", "comment", "review"]

VERDICTS: dict[str, Verdict] = {"APPROVED": "approved", "REQUEST_CHANGES": "rejected", "COMMENT": "comment"}
"""By the state of a review; those that are only asked for, or not sent off, have none."""


class Said(msgspec.Struct, frozen=True):
    """A review, by all that a delivery tells of it. `author` is casefolded, `text` stripped."""

    number: int
    author: str
    verdict: Verdict
    text: str


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """What the forge has: everything that is open, and comments and reviews of the window.

    `since`, `until`: in seconds since 1970; what is younger may still be on its way to us.
    """

    since: float
    until: float
    issues: tuple[Issue, ...] = ()
    pulls: tuple[Pull, ...] = ()
    comments: tuple[Comment, ...] = ()
    reviews: Mapping[int, tuple[Review, ...]] = {}

    @property
    def all(self) -> tuple[Issue | Pull, ...]:
        return (*self.issues, *self.pulls)

    @property
    def open(self) -> frozenset[int]:
        return frozenset(one.number for one in self.all)


class Handled(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen and told. `undecided`: numbers about which an event waits: they are left until next time.

    `opened`, `comments`, `heads`, `said`: what deliveries of the window told of; `told_reviews`: ids.
    """

    known: Mapping[int, KnownIssue] = {}
    undecided: frozenset[int] = frozenset()
    opened: frozenset[int] = frozenset()
    comments: frozenset[int] = frozenset()
    heads: frozenset[str] = frozenset()
    said: tuple[Said, ...] = ()
    told_reviews: frozenset[int] = frozenset()


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """`source` names it for ever: it becomes an event once. `at`: seconds since 1970.

    `issue` or `pull` is what it is about, of a comment too.
    """

    what: What
    number: int
    source: str
    at: float
    issue: Issue | None = None
    pull: Pull | None = None
    comment: Comment | None = None
    review: Review | None = None
    before: KnownIssue | None = None


def missed(listed: Listed, handled: Handled) -> list[Missed]:
    """In the order in which it happened."""
    found: list[Missed] = []
    for issue in listed.issues:
        found += _of(issue, None, listed, handled)
    for pull in listed.pulls:
        found += _of(None, pull, listed, handled)
    found += _comments(listed, handled)
    found += _reviews(listed, handled)
    settled = [one for one in found if one.number not in handled.undecided]
    return sorted(settled, key=lambda one: (one.at, one.what != "opened", one.number))


def gone(listed: Listed, handled: Handled) -> list[int]:
    """Numbers that were open when they were last seen, and are not listed any more."""
    over = (one.number for one in handled.known.values() if one.state == "open")
    return sorted(set(over) - listed.open - handled.undecided)


def seconds(at: datetime) -> float:
    return at.timestamp() if at.year > 1 else 0.0


def _of(issue: Issue | None, pull: Pull | None, listed: Listed, handled: Handled) -> Iterator[Missed]:
    """Of one that is open. What the forge does not date has the time of its last change."""
    about = issue or pull
    assert about
    number, changed = about.number, seconds(about.updated_at)
    known, created = handled.known.get(number), seconds(about.created_at)
    if listed.since <= created <= listed.until and number not in handled.opened:
        yield Missed(
            what="opened", number=number, source=f"opened:{number}", at=created, issue=issue, pull=pull
        )
        return
    if known is None or changed > listed.until:
        return
    whats: list[What] = []
    if known.state != "open":
        whats = ["reopened"]  # the rest of it next time, when that is decided
    else:
        if set(about.label_names) != set(known.labels):
            whats.append("labels")
        if {one.login for one in about.assignees} != set(known.assignees):
            whats.append("assignees")
    for what in whats:
        source = f"{what}:{number}:{known.seen_at:.3f}"  # one for each state that we know it in
        yield Missed(
            what=what, number=number, source=source, at=changed, issue=issue, pull=pull, before=known
        )
    head = pull.head.sha if pull else ""
    if head and known.head_commit not in ("", head) and head not in handled.heads:
        yield Missed(what="head", number=number, source=f"head:{number}:{head}", at=changed, pull=pull)


def _comments(listed: Listed, handled: Handled) -> Iterator[Missed]:
    issues = {one.number: one for one in listed.issues}
    pulls = {one.number: one for one in listed.pulls}
    for comment in listed.comments:
        number, at = comment.number, seconds(comment.created_at)
        is_fresh = listed.since <= at <= listed.until and comment.id not in handled.comments
        if is_fresh and (number in issues or number in pulls):
            yield Missed(
                what="comment",
                number=number,
                source=f"comment:{comment.id}",
                at=at,
                issue=issues.get(number),
                pull=pulls.get(number),
                comment=comment,
            )


def _reviews(listed: Listed, handled: Handled) -> Iterator[Missed]:
    """A delivery does not name its review: each accounts for one of the same author, verdict and text."""
    delivered = Counter(handled.said)
    for pull in listed.pulls:
        for review in _submitted(listed.reviews.get(pull.number, ())):
            said = of_review(pull.number, review)
            at = seconds(review.submitted_at)
            if review.id in handled.told_reviews or not listed.since <= at <= listed.until:
                continue
            if delivered[said]:
                delivered[said] -= 1
                continue
            yield Missed(
                what="review",
                number=pull.number,
                source=f"review:{review.id}",
                at=at,
                pull=pull,
                review=review,
            )


def of_review(number: int, review: Review) -> Said:
    return Said(number, review.user.login.casefold(), VERDICTS[review.state], review.body.strip())


def _submitted(reviews: Iterable[Review]) -> Iterator[Review]:
    return (one for one in reviews if one.state in VERDICTS and not one.dismissed)
