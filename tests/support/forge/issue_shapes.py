"""How the forge writes issues, pull requests, comments, reviews, labels: the keys and types that were recorded."""

from __future__ import annotations

from typing import Any

from tests.support.forge.shapes import Json, repository, user
from tests.support.forge.state import (
    Comment,
    InlineComment,
    Issue,
    Label,
    Milestone,
    Pull,
    Reaction,
    Repository,
    Review,
    User,
    World,
)

WEIGHTY = ("APPROVED", "REQUEST_CHANGES", "REQUEST_REVIEW")


def label(world: World, where: Repository | None, shown: Label, owner: str = "") -> Json:
    home = (
        f"repos/{where.full_name}"
        if where and shown in where.labels
        else f"orgs/{owner or (where.owner.login if where else '')}"
    )
    return {
        "id": shown.id, "name": shown.name, "exclusive": shown.exclusive, "is_archived": shown.is_archived,
        "color": shown.color, "description": shown.description,
        "url": f"{world.url}/api/v1/{home}/labels/{shown.id}",
    }  # fmt: skip


def milestone(where: Repository, shown: Milestone) -> Json:
    states = [issue.state for issue in where.issues.values() if issue.milestone is shown]
    return {
        "id": shown.id, "title": shown.title, "description": shown.description, "state": "open",
        "open_issues": states.count("open"), "closed_issues": states.count("closed"), "created_at": shown.created, "updated_at": shown.created, "closed_at": None, "due_on": None,
    }  # fmt: skip


def comment(world: World, where: Repository, issue: Issue, shown: Comment) -> Json:
    page = issue_page(world, where, issue)
    return {
        "id": shown.id, "html_url": f"{page}#issuecomment-{shown.id}",
        "pull_request_url": page if issue.pull else "", "issue_url": "" if issue.pull else page,
        "user": user(world, shown.user), "original_author": "", "original_author_id": 0, "body": shown.body,
        "assets": [], "created_at": shown.created, "updated_at": shown.updated,
    }  # fmt: skip


def issue(world: World, where: Repository, shown: Issue, viewer: User | None = None) -> Json:
    return {
        "id": shown.id, "url": f"{world.url}/api/v1/repos/{where.full_name}/issues/{shown.number}",
        "html_url": issue_page(world, where, shown), "number": shown.number,
        "user": user(world, shown.user, viewer), "original_author": "", "original_author_id": 0,
        "title": shown.title, "body": shown.body, "ref": "", "assets": [], **_common(world, where, shown),
        "state": shown.state, "is_locked": False, "comments": shown.comments_counted,
        "created_at": shown.created, "updated_at": shown.updated, "closed_at": shown.closed, "due_date": None,
        "pull_request": None if shown.pull is None else {
            "merged": shown.pull.merged_at is not None, "merged_at": shown.pull.merged_at,
            "draft": shown.is_draft, "html_url": issue_page(world, where, shown),
        },
        "repository": {
            "id": where.id, "name": where.name, "owner": where.owner.login, "full_name": where.full_name,
        },
        "pin_order": 0,
    }  # fmt: skip


def pull(world: World, where: Repository, shown: Issue, half: Pull, viewer: User | None, mode: str) -> Json:
    """`mergeable` is what is known now: false while it is worked out, and of a draft."""
    page = issue_page(world, where, shown)
    base = where.bare.head(half.base_branch) or ""
    counts = where.bare.counts(half.merge_base, half.head).values()
    side = {"repo_id": where.id, "repo": repository(world, where, mode)}
    ref = f"refs/pull/{shown.number}/head" if half.head_deleted else half.head_branch
    return {
        "id": half.id, "url": page, "number": shown.number, "user": user(world, shown.user, viewer),
        "title": shown.title, "body": shown.body, **_common(world, where, shown),
        "requested_reviewers": [user(world, reviewer) for reviewer in reviewers(half)],
        "requested_reviewers_teams": [], "state": shown.state, "draft": shown.is_draft, "is_locked": False,
        "comments": shown.comments_counted,
        "review_comments": sum(1 for review in half.reviews if review.state != "REQUEST_REVIEW"),
        "additions": sum(added for added, _ in counts), "deletions": sum(deleted for _, deleted in counts),
        "changed_files": len(counts), "html_url": page, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch",
        "mergeable": half.mergeable and not shown.is_draft, "merged": half.merged_at is not None,
        "merged_at": half.merged_at, "merge_commit_sha": half.merge_commit,
        "merged_by": user(world, half.merged_by) if half.merged_by else None, "allow_maintainer_edit": False,
        "base": {"label": half.base_branch, "ref": half.base_branch, "sha": base, **side},
        "head": {"label": half.head_branch, "ref": ref, "sha": half.head, **side},
        "merge_base": half.merge_base, "due_date": None, "created_at": shown.created, "updated_at": shown.updated,
        "closed_at": shown.closed, "pin_order": 0, "flow": 0,
    }  # fmt: skip


def review(world: World, where: Repository, on: Issue, shown: Review, viewer: User | None = None) -> Json:
    page = issue_page(world, where, on)
    return {
        "id": shown.id, "user": user(world, shown.user, viewer), "team": None, "state": shown.state,
        "body": shown.body, "commit_id": shown.commit_id, "stale": shown.stale,
        "official": shown.official and not shown.dismissed, "dismissed": shown.dismissed,
        "comments_count": len(shown.comments), "submitted_at": shown.created, "updated_at": shown.created,
        "html_url": f"{page}#issuecomment-{shown.comment_id}" if shown.comment_id else "", "pull_request_url": page,
    }  # fmt: skip


def inline_comment(
    world: World, where: Repository, on: Issue, of: Review, shown: InlineComment, viewer: User | None
) -> Json:
    page = issue_page(world, where, on)
    return {
        "id": shown.id, "body": shown.body, "user": user(world, shown.user, viewer), "resolver": None,
        "pull_request_review_id": of.id, "created_at": shown.created, "updated_at": shown.created,
        "path": shown.path, "commit_id": shown.commit_id, "original_commit_id": "", "diff_hunk": shown.diff_hunk,
        "position": max(shown.position, 0), "original_position": max(-shown.position, 0),
        "html_url": f"{page}#issuecomment-{shown.id}", "pull_request_url": page,
    }  # fmt: skip


def reaction(world: World, shown: Reaction, viewer: User | None = None) -> Json:
    return {"user": user(world, shown.user, viewer), "content": shown.content, "created_at": shown.created}


def reviewers(half: Pull) -> list[User]:
    """Who was asked for a review or gave one that counts."""
    found: dict[int, User] = {}
    for given in half.reviews:
        if given.state in WEIGHTY:
            found.setdefault(given.user.id, given.user)
    return list(found.values())


def issue_page(world: World, where: Repository, shown: Issue) -> str:
    return f"{world.url}/{where.full_name}/{'pulls' if shown.pull else 'issues'}/{shown.number}"


def _common(world: World, where: Repository, shown: Issue) -> dict[str, Any]:
    assignees = [user(world, one) for one in shown.assignees]
    return {
        "labels": [label(world, where, one) for one in sorted(shown.labels, key=lambda one: one.name)],
        "milestone": milestone(where, shown.milestone) if shown.milestone else None,
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees or None,
    }
