"""What the forge tells its webhooks: one method per kind of event, with the payloads that were recorded."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any

from tests.support.forge import issue_shapes, shapes
from tests.support.forge.bare import ZERO
from tests.support.forge.delivery import Sender, make
from tests.support.forge.state import Comment, Hook, Issue, Repository, Review, User, World

# Type of event to the value of X-Forgejo-Event, where they differ.
SHORT = {
    "issue_assign": "issues", "issue_label": "issues", "issue_milestone": "issues",
    "pull_request_assign": "pull_request", "pull_request_label": "pull_request",
    "pull_request_milestone": "pull_request", "pull_request_sync": "pull_request",
    "pull_request_review_request": "pull_request", "pull_request_comment": "issue_comment",
    "pull_request_review_approved": "pull_request_approved",
    "pull_request_review_rejected": "pull_request_rejected",
    "pull_request_review_comment": "pull_request_comment",
}  # fmt: skip
REVIEWS = {"APPROVED": "approved", "REQUEST_CHANGES": "rejected", "COMMENT": "comment"}


class Events:
    def __init__(self, world: World, sender: Sender) -> None:
        self.world, self.sender = world, sender

    def issue(
        self,
        where: Repository,
        issue: Issue,
        sender: User,
        action: str,
        kind: str = "",
        changes: dict[str, Any] | None = None,
        commit: str = "",
    ) -> None:
        """An issue or a pull request was opened, edited, closed, labelled (`kind` label), assigned, …"""
        from tests.support.forge import timeline

        timeline.note(issue, sender, action)
        if issue.pull:
            event = f"pull_request_{kind}" if kind else "pull_request"
            self.pull(where, issue, sender, event, action, changes=changes, commit=commit)
            return
        payload: dict[str, Any] = {"action": action, "number": issue.number}
        if changes is not None:
            payload["changes"] = changes
        payload["issue"] = issue_shapes.issue(self.world, where, issue, sender)
        payload |= {**self._ends(where, sender), "commit_id": commit}
        self._send(where, f"issue_{kind}" if kind else "issues", payload)

    def pull(
        self,
        where: Repository,
        issue: Issue,
        sender: User,
        event_type: str,
        action: str,
        *,
        changes: dict[str, Any] | None = None,
        reviewer: User | None = None,
        review: dict[str, str] | None = None,
        commit: str = "",
    ) -> None:
        mode = "read" if review else where.mode(sender)
        payload: dict[str, Any] = {"action": action, "number": issue.number}
        if changes is not None:
            payload["changes"] = changes
        assert issue.pull
        payload["pull_request"] = issue_shapes.pull(
            self.world, where, issue, issue.pull, sender, where.mode(sender)
        )
        payload["requested_reviewer"] = shapes.user(self.world, reviewer) if reviewer else None
        payload |= {**self._ends(where, sender, mode), "commit_id": commit, "review": review}
        self._send(where, event_type, payload)

    def reviewed(self, where: Repository, issue: Issue, review: Review) -> None:
        kind = f"pull_request_review_{REVIEWS[review.state]}"
        said = {"type": kind, "content": review.body}
        self.pull(where, issue, review.user, kind, "reviewed", reviewer=review.user, review=said)

    def comment(
        self,
        where: Repository,
        issue: Issue,
        comment: Comment,
        sender: User,
        action: str,
        was: str | None = None,
    ) -> None:
        payload: dict[str, Any] = {"action": action}
        payload["issue"] = issue_shapes.issue(self.world, where, issue, sender)
        mode = where.mode(sender)
        if issue.pull:
            payload["pull_request"] = issue_shapes.pull(self.world, where, issue, issue.pull, sender, mode)
        payload["comment"] = issue_shapes.comment(self.world, where, issue, comment)
        if was is not None:
            payload["changes"] = {"body": {"from": was}}
        payload |= {**self._ends(where, sender), "is_pull": issue.pull is not None}
        self._send(where, "pull_request_comment" if issue.pull else "issue_comment", payload)

    def push(
        self, where: Repository, ref: str, old: str, new: str, pusher: User, *, only: Hook | None = None
    ) -> None:
        """A ref moved. `only`: the button "test delivery" of one hook, about the newest commit."""
        test = only is not None
        bare = where.bare
        branch = ref.startswith("refs/heads/")
        since = old
        if old == ZERO and branch:
            base = bare.head(where.default_branch)
            since = (bare.merge_base(base, new) if base and base != new else None) or old
        ids = (
            [new]
            if test
            else []
            if not branch
            else bare.commits(new if since == ZERO else f"{since}..{new}", 50)
        )
        commits = [
            shapes.payload_commit(
                self.world, where, bare.commit(sha), None if test else bare.changes_of(sha), verified=test
            )
            for sha in ids
        ]
        head = (
            commits[0]
            if commits
            else shapes.payload_commit(self.world, where, bare.commit(new), bare.changes_of(new))
        )
        payload = {
            "ref": ref, "before": old, "after": new,
            "compare_url": f"{self.world.url}/{where.full_name}/compare/{since}...{new}",
            "commits": commits, "total_commits": len(commits), "head_commit": head,
            "repository": shapes.repository(self.world, where, "none" if test else "owner"),
            "pusher": shapes.user(self.world, pusher), "sender": shapes.user(self.world, pusher),
        }  # fmt: skip
        self._send(where, "push", payload, ref, only)

    def created(self, where: Repository, ref: str, sha: str, sender: User) -> None:
        self._ref(where, "create", {"sha": sha, "ref": ref}, sender, "none")

    def deleted(self, where: Repository, ref: str, sender: User) -> None:
        self._ref(where, "delete", {"ref": ref}, sender, "owner")

    def _ref(self, where: Repository, event: str, start: dict[str, Any], sender: User, mode: str) -> None:
        kind = {"ref_type": "tag" if start["ref"].startswith("refs/tags/") else "branch"}
        pusher = {"pusher_type": "user"} if event == "delete" else {}
        self._send(where, event, {**start, **kind, **pusher, **self._ends(where, sender, mode)}, start["ref"])

    def _ends(self, where: Repository, sender: User, mode: str = "") -> dict[str, Any]:
        return {
            "repository": shapes.repository(self.world, where, mode or where.mode(sender)),
            "sender": shapes.user(self.world, sender),
        }

    def _send(
        self,
        where: Repository,
        event_type: str,
        payload: dict[str, Any],
        ref: str = "",
        only: Hook | None = None,
    ) -> None:
        for hook in [only] if only else where.hooks:
            filtered = ref and not fnmatch(ref.removeprefix("refs/heads/"), hook.branch_filter or "*")
            if hook.active and event_type in hook.events and not filtered:
                self.sender.add(make(hook, SHORT.get(event_type, event_type), event_type, payload))
