"""Reactions to issues and comments: only those of the server's set."""

from __future__ import annotations

from tests.support.forge import issue_shapes
from tests.support.forge.calls import Answer, Call, answers, done
from tests.support.forge.comments import find
from tests.support.forge.errors import Refusal
from tests.support.forge.state import Reaction, Repository

ISSUE = "/repos/{owner}/{repo}/issues/{index}/reactions"
COMMENT = "/repos/{owner}/{repo}/issues/comments/{id}/reactions"


@answers("GET", ISSUE)
def of_issue(call: Call) -> Answer:
    found = _of(call, call.repository())
    page = call.page(found, lambda one: issue_shapes.reaction(call.world, one, call.user))
    page.body = page.body or None
    return page


@answers("GET", COMMENT)
def of_comment(call: Call) -> Answer:
    found = _of(call, call.repository())
    return Answer(body=[issue_shapes.reaction(call.world, one, call.user) for one in found] or None)


@answers("POST", ISSUE)
@answers("POST", COMMENT)
def add(call: Call) -> Answer:
    """201 the first time, 200 when it is there already."""
    found, content = _of(call, call.repository(change=True)), call.body.get("content", "")
    if content not in call.world.allowed_reactions:
        raise Refusal(403, f"'{content}' is not an allowed reaction")
    for one in found:
        if one.user is call.me() and one.content == content:
            return Answer(200, issue_shapes.reaction(call.world, one, call.user))
    found.append(Reaction(call.me(), content))
    return Answer(201, issue_shapes.reaction(call.world, found[-1], call.user))


@answers("DELETE", ISSUE)
@answers("DELETE", COMMENT)
def remove(call: Call) -> Answer:
    found, content = _of(call, call.repository(change=True)), call.body.get("content", "")
    found[:] = [one for one in found if (one.user, one.content) != (call.me(), content)]
    return done(200)


def _of(call: Call, repository: Repository) -> list[Reaction]:
    if "index" in call.arguments:
        return call.issue(repository).reactions
    return find(call, repository)[1].reactions
