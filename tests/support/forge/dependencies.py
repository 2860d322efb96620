"""What an issue waits for."""

from __future__ import annotations

from tests.support.forge import issue_shapes
from tests.support.forge.calls import Answer, Call, answers
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.state import Issue, Repository

PATH = "/repos/{owner}/{repo}/issues/{index}/dependencies"


@answers("GET", PATH)
def dependencies(call: Call) -> Answer:
    """Pages without their headers."""
    repository = call.repository()
    found = [(where, where.issues[number]) for where, number in call.issue(repository).dependencies]
    page = call.page(found, lambda pair: issue_shapes.issue(call.world, pair[0], pair[1], call.user))
    page.headers = {}
    return page


@answers("GET", "/repos/{owner}/{repo}/issues/{index}/blocks")
def blocks(call: Call) -> Answer:
    repository = call.repository()
    issue = call.issue(repository)
    found = [
        (where, one)
        for where in call.world.repositories.values()
        for one in where.issues.values()
        if (repository, issue.number) in one.dependencies
    ]
    page = call.page(found, lambda pair: issue_shapes.issue(call.world, pair[0], pair[1], call.user))
    page.headers = {}
    return page


@answers("POST", PATH)
def add(call: Call) -> Answer:
    """500 for a circle, as for one that is there already."""
    repository = call.repository("write", change=True)
    issue, (where, other) = call.issue(repository), _named(call)
    if (repository, issue.number) in other.dependencies or (where, other.number) in issue.dependencies:
        raise Refusal(500, "")
    issue.dependencies.append((where, other.number))
    return Answer(201, issue_shapes.issue(call.world, repository, issue, call.user))


@answers("DELETE", PATH)
def remove(call: Call) -> Answer:
    repository = call.repository("write", change=True)
    issue, (where, other) = call.issue(repository), _named(call)
    if (where, other.number) not in issue.dependencies:
        raise Refusal(500, "")
    issue.dependencies.remove((where, other.number))
    return Answer(body=issue_shapes.issue(call.world, repository, issue, call.user))


def _named(call: Call) -> tuple[Repository, Issue]:
    name = f"{call.body.get('owner')}/{call.body.get('repo')}".lower()
    where = call.world.repositories.get(name)
    other = where.issues.get(call.body.get("index") or 0) if where else None
    if where is None or other is None:
        raise not_found("IsErrRepoNotExist")
    return where, other
