"""What follows a change of refs: webhooks, pull requests that move or close, issues that a commit closes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from tests.support.forge.bare import ZERO
from tests.support.forge.events import Events
from tests.support.forge.state import Issue, Pull, Repository, User, World, now

CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)", re.IGNORECASE)


def moved(
    world: World,
    events: Events,
    where: Repository,
    before: Mapping[str, str],
    after: Mapping[str, str],
    pusher: User,
) -> None:
    """Tells of every ref that differs, deletions last."""
    for ref in sorted(set(before) | set(after), key=lambda ref: (ref not in after, ref)):
        old, new = before.get(ref, ZERO), after.get(ref, ZERO)
        if old == new or not ref.startswith(("refs/heads/", "refs/tags/")):
            continue
        if new == ZERO:
            events.deleted(where, ref, pusher)
            if ref.startswith("refs/heads/"):
                _head_deleted(events, where, ref.removeprefix("refs/heads/"), pusher)
            continue
        tag = ref.startswith("refs/tags/")
        if old == ZERO and not tag:
            events.created(where, ref, new, pusher)
        events.push(where, ref, old, new, pusher)
        if old == ZERO and tag:
            events.created(where, ref, new, pusher)
        if not tag:
            branch_moved(world, events, where, ref.removeprefix("refs/heads/"), old, new, pusher)


def branch_moved(
    world: World, events: Events, where: Repository, branch: str, old: str, new: str, pusher: User
) -> None:
    """Open pull requests from or onto the branch are checked anew."""
    where.updated = now()
    for issue, pull in list(where.pulls()):
        if issue.state != "open" or pull.merged_at:
            continue
        if pull.base_branch == branch:
            world.start_checking(pull)
        if pull.head_branch == branch and pull.head != new:
            pull.head = new
            remember_head(where, issue, pull)
            base = where.bare.head(pull.base_branch)
            pull.merge_base = (base and where.bare.merge_base(base, new)) or pull.merge_base
            world.start_checking(pull)
            events.pull(where, issue, pusher, "pull_request_sync", "synchronized")
            _outdate(where, pull)
    if branch == where.default_branch and old != ZERO:
        for sha in where.bare.commits(f"{old}..{new}"):
            close_named(events, where, where.bare.commit(sha).message, pusher, sha)


def close_named(events: Events, where: Repository, text: str, sender: User, commit: str) -> None:
    """Closes the issues of `Closes #1`."""
    for number in CLOSES.findall(text):
        issue = where.issues.get(int(number))
        if issue and issue.state == "open" and not issue.pull:
            issue.state, issue.closed = "closed", now()
            events.issue(where, issue, sender, "closed", commit=commit)


def settle(where: Repository, pull: Pull, *, at_once: bool = False) -> None:
    """Works out `mergeable` when its time has come: lazily, by whoever looks."""
    if pull.checked or not (at_once or time.monotonic() >= pull.checked_from):
        return
    base = where.bare.head(pull.base_branch)
    pull.mergeable = bool(base) and where.bare.merged_tree(base or "", pull.head) is not None
    pull.checked = True


def remember_head(where: Repository, issue: Issue, pull: Pull) -> None:
    where.bare.git("update-ref", f"refs/pull/{issue.number}/head", pull.head)


def _outdate(where: Repository, pull: Pull) -> None:
    """Reviews of another commit are stale; where the branch asks for it, their approval is gone."""
    dismiss = bool(where.protections.get(pull.base_branch, {}).get("dismiss_stale_approvals"))
    for review in pull.reviews:
        if review.state in ("APPROVED", "REQUEST_CHANGES") and review.commit_id != pull.head:
            review.stale = True
            if dismiss and review.state == "APPROVED":
                review.dismissed = True


def _head_deleted(events: Events, where: Repository, branch: str, sender: User) -> None:
    for issue, pull in list(where.pulls()):
        if pull.head_branch == branch and not pull.head_deleted:
            pull.head_deleted = True
            if issue.state == "open":
                issue.state, issue.closed = "closed", now()
                events.issue(where, issue, sender, "closed")
