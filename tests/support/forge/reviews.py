"""Reviews with their inline comments, and who is asked for one."""

from __future__ import annotations

from typing import Any

from tests.support.forge import issue_shapes
from tests.support.forge.bare import Bare
from tests.support.forge.calls import Answer, Call, answers, done, pick
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.state import InlineComment, Issue, Pull, Repository, Review, User

PATH = "/repos/{owner}/{repo}/pulls/{index}/reviews"
ASKED = "/repos/{owner}/{repo}/pulls/{index}/requested_reviewers"
COUNTED = ("APPROVED", "REQUEST_CHANGES")


@answers("GET", PATH)
def listed(call: Call) -> Answer:
    """An answered request for a review is no longer there."""
    repository = call.repository()
    issue, pull = call.pull(repository)
    return call.page(pull.reviews, lambda review: _show(call, repository, issue, review))


@answers("POST", PATH)
def create(call: Call) -> Answer:
    repository, me = call.repository(change=True), call.me()
    issue, pull = call.pull(repository)
    state, body = call.body.get("event") or "PENDING", call.body.get("body") or ""
    inline = call.body.get("comments") or []
    _refuse_unfit(state, body, inline, issue, me)
    review = Review(
        call.world.next_id("review"), me, state, body, call.body.get("commit_id") or pull.head,
        official=state in COUNTED and repository.allows(me, "write"),
    )  # fmt: skip
    review.comments = [_inline(call, repository, pull, one) for one in inline]
    review.comment_id = call.world.next_id("comment")
    if state in COUNTED:
        for older in pull.reviews:
            if older.user is me and older.state in COUNTED:
                older.official = False
                older.dismissed = older.dismissed or older.state == "REQUEST_CHANGES"
        pull.reviews = [one for one in pull.reviews if (one.user, one.state) != (me, "REQUEST_REVIEW")]
    pull.reviews.append(review)
    if state != "PENDING":
        call.events.reviewed(repository, issue, review)
    return Answer(200, _show(call, repository, issue, review))


@answers("GET", PATH + "/{id}")
def one(call: Call) -> Answer:
    repository = call.repository()
    issue, pull = call.pull(repository)
    return Answer(body=_show(call, repository, issue, pick(pull.reviews, call.arguments["id"])))


@answers("DELETE", PATH + "/{id}")
def delete(call: Call) -> Answer:
    repository = call.repository(change=True)
    _, pull = call.pull(repository)
    review = pick(pull.reviews, call.arguments["id"])
    if review.user is not call.me() and not call.me().is_admin:
        raise Refusal(403, "")
    pull.reviews.remove(review)
    return done()


@answers("GET", PATH + "/{id}/comments")
def comments(call: Call) -> Answer:
    repository = call.repository()
    issue, pull = call.pull(repository)
    review = pick(pull.reviews, call.arguments["id"])
    shown = [
        issue_shapes.inline_comment(call.world, repository, issue, review, one, call.user)
        for one in review.comments
    ]
    return Answer(body=shown)


@answers("POST", PATH + "/{id}/dismissals")
def dismiss(call: Call) -> Answer:
    repository = call.repository("admin", change=True)
    issue, pull = call.pull(repository)
    review = pick(pull.reviews, call.arguments["id"])
    if review.state not in COUNTED:
        raise Refusal(
            403, "not need to dismiss this review because it's type is not Approve or change request"
        )
    shown = _show(call, repository, issue, review)
    review.dismissed = True
    return Answer(200, {**shown, "dismissed": True})


@answers("POST", ASKED)
def ask(call: Call) -> Answer:
    """All or nothing: one unknown name fails the list, and the author cannot be asked."""
    repository, me = call.repository("write", change=True), call.me()
    issue, pull = call.pull(repository)
    asked = []
    for user in _named(call):
        if user is issue.user:
            raise Refusal(
                422, f"poster of pr can't be reviewer [user_id: {user.id}, repo_id: {repository.id}]"
            )
        if not repository.allows(user, "read"):
            raise Refusal(422, f"Reviewer can't read [user_id: {user.id}, repo_name: {repository.name}]")
        asked.append(user)
    added = []
    for user in asked:
        if any((one.user, one.state) == (user, "REQUEST_REVIEW") for one in pull.reviews):
            continue
        writes = repository.allows(user, "write")
        review = Review(call.world.next_id("review"), user, "REQUEST_REVIEW", official=writes)
        pull.reviews.append(review)
        added.append(review)
        call.world.next_id("comment")
        call.events.pull(
            repository, issue, me, "pull_request_review_request", "review_requested", reviewer=user
        )
    return Answer(201, [_show(call, repository, issue, review) for review in added])


@answers("DELETE", ASKED)
def unask(call: Call) -> Answer:
    repository, me = call.repository("write", change=True), call.me()
    issue, pull = call.pull(repository)
    for user in _named(call):
        kept = [one for one in pull.reviews if (one.user, one.state) != (user, "REQUEST_REVIEW")]
        if len(kept) < len(pull.reviews):
            pull.reviews = kept
            call.world.next_id("comment")
            call.events.pull(
                repository, issue, me, "pull_request_review_request", "review_request_removed", reviewer=user
            )
    return done()


def hunk(bare: Bare, pull: Pull, path: str, line: int) -> str:
    """The diff of a file from its hunk's head up to that line of the new side (old side: negative)."""
    lines: list[str] = []
    old = new = 0
    for text in bare.git("diff", pull.merge_base, pull.head, "--", path).splitlines():
        if text.startswith("@@"):
            before, after = text.split(" ")[1:3]
            lines = [text]
            old, new = int(before[1:].split(",")[0]) - 1, int(after[1:].split(",")[0]) - 1
        elif lines:
            lines.append(text)
            old, new = old + (text[0] in " -"), new + (text[0] in " +")
            if (text[0] != "-" and new == line) or (text[0] != "+" and old == -line):
                return "\n".join(lines)
    return ""


def _refuse_unfit(state: str, body: str, inline: list[Any], issue: Issue, me: User) -> None:
    if state not in (*COUNTED, "COMMENT", "PENDING"):
        raise Refusal(422, f"Invalid review state: {state}")
    if me is issue.user and state in COUNTED:
        what = "approve" if state == "APPROVED" else "reject"
        raise Refusal(422, f"{what} your own pull is not allowed")
    if state in ("REQUEST_CHANGES", "COMMENT") and not body.strip() and not inline:
        raise Refusal(422, f"review event {state} requires a body or a comment")
    if issue.pull and issue.pull.merged_at and state in COUNTED:
        raise Refusal(422, "pull request is already merged")


def _inline(call: Call, repository: Repository, pull: Pull, given: dict[str, Any]) -> InlineComment:
    line = int(given.get("new_position") or 0) or -int(given.get("old_position") or 0)
    path = given.get("path", "")
    return InlineComment(
        call.world.next_id("comment"), call.me(), path, line, given.get("body", ""), pull.head,
        hunk(repository.bare, pull, path, line),
    )  # fmt: skip


def _named(call: Call) -> list[User]:
    found = []
    for name in call.body.get("reviewers") or []:
        user = call.world.users.get(name.lower())
        if user is None:
            raise not_found(f"User '{name}' not exist")
        found.append(user)
    return found


def _show(call: Call, repository: Repository, issue: Issue, review: Review) -> dict[str, Any]:
    return issue_shapes.review(call.world, repository, issue, review, call.user)
