"""Merging by real git, and all the ways in which the forge says no."""

from __future__ import annotations

from typing import Any

from tests.support.forge.bare import GitSaidNo
from tests.support.forge.branches import protection
from tests.support.forge.calls import Answer, Call, answers, done
from tests.support.forge.errors import Refusal, not_found, try_again_later
from tests.support.forge.refs import close_named, moved, settle
from tests.support.forge.state import Issue, Pull, Repository, now

PATH = "/repos/{owner}/{repo}/pulls/{index}/merge"
STYLES = ("merge", "rebase", "rebase-merge", "squash", "fast-forward-only", "manually-merged")
SETTING = {
    "merge": "allow_merge_commits", "rebase": "allow_rebase", "rebase-merge": "allow_rebase_explicit",
    "squash": "allow_squash_merge", "fast-forward-only": "allow_fast_forward_only_merge",
}  # fmt: skip


@answers("GET", PATH)
def is_merged(call: Call) -> Answer:
    _, pull = call.pull(call.repository())
    if pull.merged_at is None:
        raise not_found()
    return done()


@answers("POST", PATH)
def merge(call: Call) -> Answer:
    """200 without a body; also when it was merged before."""
    repository, me = call.repository(change=True), call.me()
    issue, pull = call.pull(repository)
    style = call.body.get("Do")
    if style not in STYLES:
        raise Refusal(422, "[Do]: In" if style else "[Do]: Required")
    if pull.merged_at:
        return done(200)
    if issue.state != "open":
        raise not_found()
    if not repository.allows(me, "write"):
        raise Refusal(405, "User not allowed to merge PR")
    if issue.is_draft:
        raise Refusal(405, "Work in progress PRs cannot be merged")
    if call.body.get("head_commit_id") not in (None, "", pull.head):
        raise Refusal(409, "head out of date")
    settle(repository, pull)
    forced = call.body.get("force_merge") and repository.allows(me, "admin")
    if not pull.checked or not pull.mergeable or (blocked(repository, pull) and not forced):
        raise try_again_later()
    if repository.settings.get(SETTING.get(style, "")) is False:
        raise Refusal(405, "Invalid merge style")
    before = repository.bare.refs()
    _merge(call, repository, issue, pull, style)
    _after(call, repository, issue, pull, before)
    return done(200)


@answers("DELETE", PATH)
def cancel(call: Call) -> Answer:
    call.pull(call.repository("write", change=True))
    raise not_found()


def blocked(repository: Repository, pull: Pull) -> str:
    """Why the base's protection does not let the pull request in; empty when it does."""
    rule = protection(repository, pull.base_branch)
    if rule is None:
        return ""
    if rule["enable_status_check"]:
        newest = {status.context: status.state for status in repository.statuses if status.sha == pull.head}
        missing = [name for name in rule["status_check_contexts"] or [] if newest.get(name) != "success"]
        if missing:
            return f"missing status check: {', '.join(missing)}"
    valid = [one for one in pull.reviews if one.official and not one.dismissed]
    approvals = [one for one in valid if one.state == "APPROVED"]
    if len(approvals) < rule["required_approvals"]:
        return "not enough approvals"
    if rule["block_on_rejected_reviews"] and any(one.state == "REQUEST_CHANGES" for one in valid):
        return "changes were requested"
    if rule["block_on_official_review_requests"] and any(one.state == "REQUEST_REVIEW" for one in valid):
        return "a review was requested"
    base = repository.bare.head(pull.base_branch) or ""
    if rule["block_on_outdated_branch"] and not repository.bare.is_ancestor(base, pull.head):
        return "the branch is behind its base"
    return ""


def _merge(call: Call, repository: Repository, issue: Issue, pull: Pull, style: str) -> None:
    """Moves the base branch and notes the commit."""
    bare, me = repository.bare, call.me()
    base = bare.head(pull.base_branch) or ""
    name, email = me.login, me.email

    def commit(head: str, parents: list[str], message: str) -> str:
        tree = bare.merged_tree(base, head)
        if tree is None:
            raise try_again_later()
        return bare.write_commit(tree, parents, message, name, email)

    if style == "merge":
        new = commit(pull.head, [base, pull.head], _message(call, issue, pull, style))
    elif style == "squash":
        new = commit(pull.head, [base], _message(call, issue, pull, style))
    elif style in ("rebase", "rebase-merge"):
        head = bare.rebased(base, pull.head, name, email)
        if head is None:
            raise Refusal(409, "", None)
        new = head if style == "rebase" else commit(head, [base, head], _message(call, issue, pull, style))
    elif style == "fast-forward-only":
        if not bare.is_ancestor(base, pull.head):
            raise Refusal(405, "Branch has diverged and cannot be fast-forwarded")
        new = pull.head
    else:
        new = call.body.get("MergeCommitID") or ""
        if not new or not bare.resolve(new) or not bare.is_ancestor(new, base):
            raise Refusal(422, "Wrong commit ID")
    if style != "manually-merged":
        try:
            bare.git("update-ref", f"refs/heads/{pull.base_branch}", new, base)
        except GitSaidNo:
            raise Refusal(409, "push rejected") from None
    pull.merge_commit, pull.merged_at, pull.merged_by = new, now(), me


def _message(call: Call, issue: Issue, pull: Pull, style: str) -> str:
    title = call.body.get("MergeTitleField") or (
        f"{issue.title} (#{issue.number})"
        if style == "squash"
        else f"Merge pull request '{issue.title}' (#{issue.number}) from {pull.head_branch} into {pull.base_branch}"
    )
    body = call.body.get("MergeMessageField") or ""
    return f"{title}\n\n{body}\n" if body else f"{title}\n"


def _after(call: Call, repository: Repository, issue: Issue, pull: Pull, before: dict[str, str]) -> None:
    """Closed, the issues that it names closed, then the push; the head branch goes when asked to."""
    me = call.me()
    issue.state, issue.closed, issue.updated = "closed", now(), now()
    call.events.issue(repository, issue, me, "closed")
    if pull.base_branch == repository.default_branch:
        close_named(call.events, repository, f"{issue.title}\n{issue.body}", me, pull.merge_commit or "")
    moved(call.world, call.events, repository, before, repository.bare.refs(), me)
    if _delete_head(call.body, repository) and repository.bare.head(pull.head_branch):
        refs = repository.bare.refs()
        repository.bare.git("update-ref", "-d", f"refs/heads/{pull.head_branch}")
        moved(call.world, call.events, repository, refs, repository.bare.refs(), me)


def _delete_head(body: dict[str, Any], repository: Repository) -> bool:
    wanted = body.get("delete_branch_after_merge")
    return bool(repository.settings.get("default_delete_branch_after_merge") if wanted is None else wanted)
