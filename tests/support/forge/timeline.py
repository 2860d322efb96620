"""What happened to an issue or pull request, by whom: labels, assignees, closing and opening again."""

from __future__ import annotations

from typing import Any

from tests.support.forge import issue_shapes, shapes
from tests.support.forge.calls import Answer, Call, answers
from tests.support.forge.issues import changed_between
from tests.support.forge.state import Issue, User, now


@answers("GET", "/repos/{owner}/{repo}/issues/{index}/timeline")
def timeline(call: Call) -> Answer:
    repository = call.repository()
    happened = [one for one in call.issue(repository).timeline if changed_between(call.query, one[3])]

    def show(one: tuple[str, User, dict[str, Any], str]) -> dict[str, Any]:
        type, user, fields, at = one
        shown = {"type": type, "user": shapes.user(call.world, user), "created_at": at, "body": ""}
        if "label" in fields:
            shown["label"] = issue_shapes.label(call.world, repository, fields["label"])
            shown["body"] = "1" if fields["set"] else ""
        if "assignee" in fields:
            shown["assignee"] = shapes.user(call.world, fields["assignee"])
            shown["removed_assignee"] = fields["removed"]
        return shown

    return call.page(happened, show)


def note(issue: Issue, sender: User, action: str) -> None:
    """Whatever changed since the last time, as entries of the timeline."""
    at = now()
    if action in ("closed", "reopened"):
        is_merge = action == "closed" and issue.pull is not None and issue.pull.merged_at is not None
        type = "merge_pull" if is_merge else "close" if action == "closed" else "reopen"
        issue.timeline.append((type, sender, {}, at))
    labels = {label.name: label for label in issue.labels}
    for name in sorted(labels.keys() ^ issue.labels_told.keys()):
        fields = {"label": labels.get(name) or issue.labels_told[name], "set": name in labels}
        issue.timeline.append(("label", sender, fields, at))
    assignees = {user.login: user for user in issue.assignees}
    for login in sorted(assignees.keys() ^ issue.assignees_told.keys()):
        user = assignees.get(login) or issue.assignees_told[login]
        issue.timeline.append(
            ("assignees", sender, {"assignee": user, "removed": login not in assignees}, at)
        )
    issue.labels_told, issue.assignees_told = labels, assignees
