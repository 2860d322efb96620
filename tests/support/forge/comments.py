"""Comments on issues and pull requests."""

from __future__ import annotations

from typing import Any

from tests.support.forge import issue_shapes
from tests.support.forge.calls import Answer, Call, answers, done
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.issues import changed_between
from tests.support.forge.state import Comment, Issue, Repository, now


@answers("GET", "/repos/{owner}/{repo}/issues/{index}/comments")
def of_issue(call: Call) -> Answer:
    """All of them: this list has no pages, whatever `limit` says."""
    repository = call.repository()
    issue = call.issue(repository)
    found = [one for one in issue.comments if changed_between(call.query, one.updated)]
    shown = [issue_shapes.comment(call.world, repository, issue, one) for one in found]
    return Answer(body=shown, headers={"X-Total-Count": str(len(found))})


@answers("GET", "/repos/{owner}/{repo}/issues/comments")
def of_repository(call: Call) -> Answer:
    repository = call.repository()
    found = [(issue, one) for issue in repository.issues.values() for one in issue.comments]
    found = [pair for pair in found if changed_between(call.query, pair[1].updated)]
    found.sort(key=lambda pair: pair[1].id)
    return call.page(found, lambda pair: issue_shapes.comment(call.world, repository, *pair))


@answers("POST", "/repos/{owner}/{repo}/issues/{index}/comments")
def create(call: Call) -> Answer:
    repository = call.repository(change=True)
    issue, body = call.issue(repository), call.required("body")
    comment = Comment(call.world.next_id("comment"), call.me(), body)
    # The delivery is made before the counter moves, as the forge does it.
    call.events.comment(repository, issue, comment, call.me(), "created")
    issue.comments.append(comment)
    issue.count_comments()
    issue.updated = now()
    return Answer(201, _show(call, repository, issue, comment))


@answers("GET", "/repos/{owner}/{repo}/issues/comments/{id}")
def one(call: Call) -> Answer:
    repository = call.repository()
    return Answer(body=_show(call, repository, *find(call, repository)))


@answers("PATCH", "/repos/{owner}/{repo}/issues/{index}/comments/{id}")
@answers("PATCH", "/repos/{owner}/{repo}/issues/comments/{id}")
def edit(call: Call) -> Answer:
    repository = call.repository(change=True)
    issue, comment = _mine(call, repository)
    was, comment.body, comment.updated = comment.body, call.required("body"), now()
    if was != comment.body:
        call.events.comment(repository, issue, comment, call.me(), "edited", was)
    return Answer(body=_show(call, repository, issue, comment))


@answers("DELETE", "/repos/{owner}/{repo}/issues/{index}/comments/{id}")
@answers("DELETE", "/repos/{owner}/{repo}/issues/comments/{id}")
def delete(call: Call) -> Answer:
    repository = call.repository(change=True)
    issue, comment = _mine(call, repository)
    call.events.comment(repository, issue, comment, call.me(), "deleted")
    issue.comments.remove(comment)
    issue.count_comments()
    return done()


def find(call: Call, repository: Repository) -> tuple[Issue, Comment]:
    """The comment of the path, by its id alone."""
    for issue in repository.issues.values():
        for comment in issue.comments:
            if str(comment.id) == call.argument("id"):
                return issue, comment
    raise not_found()


def _mine(call: Call, repository: Repository) -> tuple[Issue, Comment]:
    issue, comment = find(call, repository)
    if comment.user is not call.me() and not repository.allows(call.user, "admin"):
        raise Refusal(403, "")
    return issue, comment


def _show(call: Call, repository: Repository, issue: Issue, comment: Comment) -> dict[str, Any]:
    return issue_shapes.comment(call.world, repository, issue, comment)
