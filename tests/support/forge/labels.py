"""Labels of a repository and an organization, labels of an issue, milestones."""

from __future__ import annotations

import re
from typing import Any

from tests.support.forge import issue_shapes
from tests.support.forge.calls import Answer, Call, answers, done, pick
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.state import Issue, Label, Milestone, Repository


def by_name(labels: list[Label]) -> list[Label]:
    return sorted(labels, key=lambda label: label.name)


def available(call: Call, repository: Repository) -> list[Label]:
    """The repository's own, then its organization's."""
    return repository.labels + call.world.organization_labels.get(repository.owner.login, [])


@answers("GET", "/repos/{owner}/{repo}/labels")
def of_repository(call: Call) -> Answer:
    repository = call.repository()
    return call.page(by_name(repository.labels), lambda label: _show(call, repository, label))


@answers("POST", "/repos/{owner}/{repo}/labels")
def create(call: Call) -> Answer:
    """Two labels may have one name."""
    repository = call.repository("write", change=True)
    label = _new(call)
    repository.labels.append(label)
    return Answer(201, _show(call, repository, label))


@answers("GET", "/repos/{owner}/{repo}/labels/{id}")
def one(call: Call) -> Answer:
    repository = call.repository()
    return Answer(body=_show(call, repository, pick(repository.labels, call.arguments["id"])))


@answers("PATCH", "/repos/{owner}/{repo}/labels/{id}")
def edit(call: Call) -> Answer:
    repository = call.repository("write", change=True)
    label = pick(repository.labels, call.arguments["id"])
    label.name = call.body.get("name") or label.name
    label.description = call.body.get("description", label.description)
    label.color = _color(call.body["color"]) if call.body.get("color") else label.color
    return Answer(body=_show(call, repository, label))


@answers("DELETE", "/repos/{owner}/{repo}/labels/{id}")
def delete(call: Call) -> Answer:
    repository = call.repository("write", change=True)
    gone = [label for label in repository.labels if label.id == int(call.arguments["id"])]
    repository.labels = [label for label in repository.labels if label not in gone]
    for issue in repository.issues.values():
        issue.labels = [label for label in issue.labels if label not in gone]
    return done()


@answers("GET", "/orgs/{org}/labels")
def of_organization(call: Call) -> Answer:
    org = call.argument("org")
    return call.page(
        by_name(call.world.organization_labels.get(org, [])),
        lambda label: issue_shapes.label(call.world, None, label, org),
    )


@answers("POST", "/orgs/{org}/labels")
def create_for_organization(call: Call) -> Answer:
    call.me()
    org, label = call.argument("org"), _new(call)
    call.world.organization_labels.setdefault(org, []).append(label)
    return Answer(201, issue_shapes.label(call.world, None, label, org))


@answers("GET", "/repos/{owner}/{repo}/issues/{index}/labels")
def of_issue(call: Call) -> Answer:
    repository = call.repository()
    return _labels(call, repository, call.issue(repository))


@answers("POST", "/repos/{owner}/{repo}/issues/{index}/labels")
def add(call: Call) -> Answer:
    repository = call.repository("write", change=True)
    issue = call.issue(repository)
    before = list(issue.labels)
    issue.labels += [label for label in _wanted(call, repository) if label not in issue.labels]
    _tell(call, repository, issue, before)
    return _labels(call, repository, issue)


@answers("PUT", "/repos/{owner}/{repo}/issues/{index}/labels")
def replace(call: Call) -> Answer:
    """Names that nobody knows are left out: a wrong one clears the issue."""
    repository = call.repository("write", change=True)
    issue = call.issue(repository)
    before, issue.labels = issue.labels, _wanted(call, repository)
    _tell(call, repository, issue, before)
    return _labels(call, repository, issue)


@answers("DELETE", "/repos/{owner}/{repo}/issues/{index}/labels")
def clear(call: Call) -> Answer:
    """The delivery still shows the labels that went."""
    repository = call.repository("write", change=True)
    issue = call.issue(repository)
    if issue.labels:
        call.world.next_id("comment")
        call.events.issue(repository, issue, call.me(), "label_cleared", "label")
        issue.labels = []
    return done()


@answers("DELETE", "/repos/{owner}/{repo}/issues/{index}/labels/{id}")
def remove(call: Call) -> Answer:
    """By id alone: a name is 0, and label 0 does not exist."""
    repository = call.repository("write", change=True)
    issue, given = call.issue(repository), call.argument("id")
    number = int(given) if given.isdigit() else 0
    if not any(label.id == number for label in available(call, repository)):
        raise Refusal(422, f"label does not exist [label_id: {number}]")
    before, issue.labels = issue.labels, [label for label in issue.labels if label.id != number]
    _tell(call, repository, issue, before)
    return done()


@answers("GET", "/repos/{owner}/{repo}/milestones")
def milestones(call: Call) -> Answer:
    repository = call.repository()
    return call.page(repository.milestones, lambda one: issue_shapes.milestone(repository, one))


@answers("POST", "/repos/{owner}/{repo}/milestones")
def create_milestone(call: Call) -> Answer:
    repository = call.repository("write", change=True)
    milestone = Milestone(
        call.world.next_id("milestone"), call.required("title"), call.body.get("description", "")
    )
    repository.milestones.append(milestone)
    return Answer(201, issue_shapes.milestone(repository, milestone))


def _new(call: Call) -> Label:
    name, color = call.required("name"), _color(call.required("color"))
    return Label(
        call.world.next_id("label"),
        name,
        color,
        call.body.get("description", ""),
        bool(call.body.get("exclusive")),
    )


def _color(given: str) -> str:
    if not re.fullmatch(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", given):
        raise Refusal(422, f"bad color code: {given}")
    return given.removeprefix("#").lower()


def _wanted(call: Call, repository: Repository) -> list[Label]:
    """All by id, or all by name: a mixture is 400."""
    given = call.body.get("labels") or []
    if not all(isinstance(one, int) for one in given) and not all(isinstance(one, str) for one in given):
        raise Refusal(400, "labels should be an array of strings or integers")
    known = available(call, repository)
    if given and isinstance(given[0], int) and not any(label.id in given for label in known):
        raise not_found()
    found: list[Label] = []
    for one in given:
        match = next((label for label in known if one in (label.id, label.name)), None)
        if match and match not in found:
            found.append(match)
    return found


def _tell(call: Call, repository: Repository, issue: Issue, before: list[Label]) -> None:
    if set(map(id, before)) != set(map(id, issue.labels)):
        call.world.next_id("comment")
        call.events.issue(repository, issue, call.me(), "label_updated", "label")


def _labels(call: Call, repository: Repository, issue: Issue) -> Answer:
    return Answer(body=[_show(call, repository, label) for label in by_name(issue.labels)])


def _show(call: Call, repository: Repository, label: Label) -> dict[str, Any]:
    return issue_shapes.label(call.world, repository, label)
