"""What was missed, as the document that the forge would have sent: so it is decided like everything else."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from fordjent.deciding import payload
from fordjent.deciding.payload import Payload
from fordjent.forge.types import Issue, Pull, User
from fordjent.intake.delivery import Delivery
from fordjent.reconciling.comparing import VERDICTS, Missed

PREFIX = "reconcile:"
"""Of the ids of such deliveries: no forge gives one like it."""


class Sender(NamedTuple):
    """Who did it, "" where that is not known; `head_message`: of a new head's commit."""

    login: str
    head_message: str = ""


class _Kind(NamedTuple):
    of_issue: str
    of_pull: str
    action: str


_KINDS: dict[str, _Kind] = {
    "opened": _Kind("issues", "pull_request", "opened"),
    "reopened": _Kind("issues", "pull_request", "reopened"),
    "closed": _Kind("issues", "pull_request", "closed"),
    "labels": _Kind("issue_label", "pull_request_label", "label_updated"),
    "assignees": _Kind("issue_assign", "pull_request_assign", "assigned"),
    "head": _Kind("", "pull_request_sync", "synchronized"),
    "comment": _Kind("issue_comment", "pull_request_comment", "created"),
    "review": _Kind("", "pull_request_review", "reviewed"),
}


def delivery(repository: str, default_branch: str, one: Missed, sender: Sender) -> Delivery:
    """To be stored beside those that came by themselves; its id is the same whenever it is made."""
    kind = _KINDS[one.what]
    event_type = kind.of_pull if one.pull else kind.of_issue
    if one.review:
        event_type = f"pull_request_review_{VERDICTS[one.review.state]}"
    body = msgspec.json.encode(_document(repository, default_branch, one, sender, event_type, kind.action))
    id = f"{PREFIX}{repository}:{one.source}"
    return Delivery(
        id=id,
        event_id=id,
        event_type=event_type,
        action=kind.action,
        repository=repository,
        number=one.number,
        sender=sender.login,
        body=body,
        body_hash=hashlib.sha256(body).hexdigest(),
        ignored="",
    )


def _document(
    repository: str, default_branch: str, one: Missed, sender: Sender, event_type: str, action: str
) -> Payload:
    comment, review = one.comment, one.review
    return Payload(
        action=action,
        issue=_issue(one.issue, one) if one.issue else None,
        pull_request=_pull(one.pull, one) if one.pull else None,
        comment=payload.Comment(
            id=comment.id, body=comment.body, user=_user(comment.user), updated_at=comment.updated_at
        )
        if comment
        else None,
        review=payload.Review(type=event_type, content=review.body) if review else None,
        repository=payload.Repository(full_name=repository, default_branch=default_branch),
        sender=payload.User(login=sender.login),
        is_pull=one.pull is not None,
        head_commit=payload.Commit(message=sender.head_message) if sender.head_message else None,
    )


def _issue(issue: Issue, one: Missed) -> payload.Issue:
    mark = issue.pull_request
    return payload.Issue(
        number=issue.number,
        user=_user(issue.user),
        title=issue.title,
        body=issue.body,
        labels=_labels(issue.label_names, one),
        assignees=_assignees(issue.assignees, one),
        state=issue.state,
        pull_request=payload.PullMark(merged=mark.merged, draft=mark.draft) if mark else None,
        updated_at=issue.updated_at,
    )


def _pull(pull: Pull, one: Missed) -> payload.Pull:
    head, base = pull.head, pull.base
    review = one.review
    return payload.Pull(
        number=pull.number,
        user=_user(pull.user),
        title=pull.title,
        body=pull.body,
        labels=_labels(pull.label_names, one),
        assignees=_assignees(pull.assignees, one),
        state=pull.state,
        merged=pull.merged,
        draft=pull.draft,
        head=payload.Branch(
            ref=head.ref,
            sha=head.sha,
            repo=payload.Repository(full_name=head.repo.full_name) if head.repo else None,
        ),
        base=payload.Branch(ref=base.ref, sha=base.sha),
        updated_at=review.submitted_at if review else pull.updated_at,
    )


def _labels(names: list[str], one: Missed) -> list[payload.Named]:
    """An event tells one thing: what else has changed is for its own, and stays as it was known."""
    shown = one.before.labels if one.before and one.what == "assignees" else names
    return [payload.Named(name) for name in shown]


def _assignees(users: list[User], one: Missed) -> list[payload.User]:
    now = tuple(user.login for user in users)
    shown = one.before.assignees if one.before and one.what == "labels" else now
    return [payload.User(login) for login in shown]


def _user(user: User) -> payload.User:
    return payload.User(login=user.login)
