"""Issues: opened, listed, searched, edited, closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.forge import issue_shapes
from tests.support.forge.calls import Answer, Call, answers, done, pick
from tests.support.forge.errors import Refusal
from tests.support.forge.labels import available
from tests.support.forge.state import Issue, Label, Repository, User, now
from tests.support.forge.swagger import when


@answers("GET", "/repos/{owner}/{repo}/issues")
def listed(call: Call) -> Answer:
    """Newest first; pull requests too, unless `type` says otherwise."""
    repository = call.repository()
    found = [issue for issue in repository.issues.values() if _wanted(call, issue)]
    return call.page(_sorted(call, found), lambda issue: _show(call, repository, issue))


@answers("GET", "/repos/issues/search")
def search(call: Call) -> Answer:
    readable = [one for one in call.world.repositories.values() if one.allows(call.user, "read")]
    owner = call.query.get("owner")
    found = [
        (repository, issue)
        for repository in readable
        if owner in (None, repository.owner.login)
        for issue in repository.issues.values()
        if _wanted(call, issue)
    ]
    found.sort(key=lambda pair: pair[1].id, reverse=True)
    return call.page(found, lambda pair: _show(call, *pair))


@answers("POST", "/repos/{owner}/{repo}/issues")
def create(call: Call) -> Answer:
    repository, me = call.repository(change=True), call.me()
    title, writes = call.required("title"), repository.allows(me, "write")
    issue = Issue(
        call.world.next_id("issue"), next_number(repository), me, title, call.body.get("body") or "",
        labels=labels_by_id(call, repository, call.body.get("labels")) if writes else [],
        assignees=assignable(call, repository, call.body) if writes else [],
    )  # fmt: skip
    repository.issues[issue.number] = issue
    opened(call, repository, issue)
    if call.body.get("closed"):
        set_state(call, repository, issue, "closed")
    return Answer(201, _show(call, repository, issue))


@answers("GET", "/repos/{owner}/{repo}/issues/{index}")
def one(call: Call) -> Answer:
    repository = call.repository()
    return Answer(body=_show(call, repository, call.issue(repository)))


@answers("PATCH", "/repos/{owner}/{repo}/issues/{index}")
def edit(call: Call) -> Answer:
    repository = call.repository(change=True)
    issue = call.issue(repository)
    change(call, repository, issue)
    return Answer(201, _show(call, repository, issue))


@answers("DELETE", "/repos/{owner}/{repo}/issues/{index}")
def delete(call: Call) -> Answer:
    repository = call.repository("admin", change=True)
    del repository.issues[call.issue(repository).number]
    return done()


def next_number(repository: Repository) -> int:
    """Issues and pull requests share one sequence."""
    return max(repository.issues, default=0) + 1


def opened(call: Call, repository: Repository, issue: Issue) -> None:
    """The deliveries of a new issue or pull request: opened, and one more for its labels, each assignee."""
    me = call.me()
    call.events.issue(repository, issue, me, "opened")
    if issue.labels:
        call.world.next_id("comment")
        call.events.issue(repository, issue, me, "label_updated", "label")
    for _ in issue.assignees:
        call.world.next_id("comment")
        call.events.issue(repository, issue, me, "assigned", "assign")


def change(call: Call, repository: Repository, issue: Issue) -> None:
    """What PATCH does, for issues and pull requests. Assignees and milestone only by who may write."""
    me, body = call.me(), call.body
    writes = repository.allows(me, "write")
    if me is not issue.user and not writes:
        raise Refusal(403, "")
    for name in ("title", "body"):
        new, old = body.get(name), getattr(issue, name)
        if new is not None and new != old:
            setattr(issue, name, new)
            issue.updated = now()
            call.events.issue(repository, issue, me, "edited", changes={name: {"from": old}})
    if writes and ("assignees" in body or "assignee" in body):
        _assign(call, repository, issue, assignable(call, repository, body))
    if writes and body.get("milestone") is not None:
        number = body["milestone"]
        issue.milestone = pick(repository.milestones, number) if number else None
        call.events.issue(repository, issue, me, "milestoned" if number else "demilestoned", "milestone")
    if body.get("state"):
        set_state(call, repository, issue, body["state"])


def set_state(call: Call, repository: Repository, issue: Issue, state: str) -> None:
    if state not in ("open", "closed"):
        raise Refusal(422, f"unknown state: {state}")
    if state == issue.state:
        return
    if issue.pull and issue.pull.merged_at:
        raise Refusal(412, "cannot change state of this pull request, it was already merged")
    if state == "closed" and any(_is_open(*one) for one in issue.dependencies):
        kind = "pull request" if issue.pull else "issue"
        raise Refusal(412, f"cannot close this {kind} because it still has open dependencies")
    issue.state, issue.closed, issue.updated = state, now() if state == "closed" else None, now()
    call.events.issue(repository, issue, call.me(), "closed" if state == "closed" else "reopened")


def labels_by_id(call: Call, repository: Repository, given: list[int] | None) -> list[Label]:
    known = {label.id: label for label in available(call, repository)}
    return [known[number] for number in given or [] if number in known]


def assignable(call: Call, repository: Repository, body: dict[str, Any]) -> list[User]:
    """The people to assign; 422 where one does not exist or cannot read."""
    names = body.get("assignees") or ([body["assignee"]] if body.get("assignee") else [])
    found = []
    for name in names:
        user = call.world.users.get(name.lower())
        if user is None:
            raise Refusal(422, f"Assignee does not exist: [name: {name}]")
        found.append(user)
    return found


def changed_between(query: Mapping[str, str], updated: str) -> bool:
    """`since` and `before` of a list."""
    at = when(updated)
    since, before = when(query.get("since", "")), when(query.get("before", ""))
    return at is None or ((since is None or since <= at) and (before is None or at <= before))


def _assign(call: Call, repository: Repository, issue: Issue, wanted: list[User]) -> None:
    """One delivery for each person who comes or goes."""
    for user in list(issue.assignees):
        if user not in wanted:
            issue.assignees.remove(user)
            call.world.next_id("comment")
            call.events.issue(repository, issue, call.me(), "unassigned", "assign")
    for user in wanted:
        if user not in issue.assignees:
            issue.assignees.append(user)
            call.world.next_id("comment")
            call.events.issue(repository, issue, call.me(), "assigned", "assign")


def _is_open(repository: Repository, number: int) -> bool:
    issue = repository.issues.get(number)
    return bool(issue and issue.state == "open")


def _wanted(call: Call, issue: Issue) -> bool:
    query = call.query
    state, kind = query.get("state", "open"), query.get("type")
    names = {label.name for label in issue.labels}
    text = f"{issue.title}\n{issue.body}".lower()
    return (
        state in ("all", issue.state)
        and (kind is None or (kind == "pulls") == (issue.pull is not None))
        and all(name in names for name in query.get("labels", "").split(",") if name)
        and query.get("q", "").lower() in text
        and query.get("created_by", issue.user.login) == issue.user.login
        and ("assigned_by" not in query or query["assigned_by"] in {user.login for user in issue.assignees})
        and changed_between(query, issue.updated)
    )


def _sorted(call: Call, issues: list[Issue]) -> list[Issue]:
    way = call.query.get("sort", "latest")
    if way in ("recentupdate", "leastupdate"):
        return sorted(issues, key=lambda issue: issue.updated, reverse=way == "recentupdate")
    return sorted(issues, key=lambda issue: issue.number, reverse=way != "oldest")


def _show(call: Call, repository: Repository, issue: Issue) -> dict[str, Any]:
    return issue_shapes.issue(call.world, repository, issue, call.user)
