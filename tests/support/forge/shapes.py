"""How the forge writes users, repositories, commits and statuses: the keys and types that were recorded."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.support.forge.bare import Commit
from tests.support.forge.state import Repository, Status, User, World

NEVER = "0001-01-01T00:00:00Z"
EPOCH = "1970-01-01T00:00:00Z"
UNSIGNED = {
    "verified": False, "reason": "gpg.error.not_signed_commit", "signature": "", "signer": None, "payload": "",
}  # fmt: skip
Json = dict[str, Any]


def user(world: World, shown: User, viewer: User | None = None) -> Json:
    """The address is shown to whoever is signed in, the rest in full to the user and to admins only.

    `viewer` is None where the forge shows the user as to a stranger: sender, assignees, authors of comments.
    """
    full = viewer is not None and (viewer is shown or viewer.is_admin) and not shown.is_organization
    email = "" if shown.is_organization else shown.email if viewer else f"{shown.login}@noreply.localhost"
    return {
        "id": shown.id, "login": shown.login, "login_name": "", "source_id": 0, "full_name": "",
        "email": email,
        "avatar_url": f"{world.url}/avatars/{hashlib.md5(shown.login.encode()).hexdigest()}",
        "html_url": f"{world.url}/{shown.login}", "language": "", "is_admin": shown.is_admin and full,
        "last_login": EPOCH if full else NEVER, "created": shown.created, "restricted": False, "active": full,
        "prohibit_login": False, "location": "", "pronouns": "", "website": "", "description": "",
        "visibility": "public", "followers_count": 0, "following_count": 0, "starred_repos_count": 0,
        "username": shown.login,
    }  # fmt: skip


def organization(world: World, shown: User) -> Json:
    return {
        "id": shown.id, "name": shown.login, "full_name": "", "email": "",
        "avatar_url": f"{world.url}/avatars/{hashlib.md5(shown.login.encode()).hexdigest()}", "description": "",
        "website": "", "location": "", "visibility": "public", "repo_admin_change_team_access": False,
        "username": shown.login,
    }  # fmt: skip


def repository(world: World, shown: Repository, mode: str) -> Json:
    """`mode` is the viewer's: in deliveries it is not always the sender's."""
    page = f"{world.url}/{shown.full_name}"
    open_issues = [issue for issue in shown.issues.values() if issue.state == "open"]
    settings = {
        "has_issues": True,
        "internal_tracker": {
            "enable_time_tracker": True,
            "allow_only_contributors_to_track_time": True,
            "enable_issue_dependencies": True,
        },
        "has_wiki": True, "wiki_branch": "main", "globally_editable_wiki": False, "has_pull_requests": True,
        "has_projects": True, "has_releases": True, "has_packages": True, "has_actions": False,
        "ignore_whitespace_conflicts": False, "allow_merge_commits": True, "allow_rebase": True,
        "allow_rebase_explicit": True, "allow_squash_merge": True, "allow_fast_forward_only_merge": True,
        "allow_rebase_update": True, "default_delete_branch_after_merge": False, "default_merge_style": "merge",
        "default_allow_maintainer_edit": False, "default_update_style": "merge",
    }  # fmt: skip
    return {
        "id": shown.id, "owner": user(world, shown.owner), "name": shown.name, "full_name": shown.full_name,
        "description": shown.description, "empty": shown.bare.is_empty(), "private": shown.private, "fork": False,
        "template": False, "parent": None, "mirror": False, "size": 25, "language": "",
        "languages_url": f"{world.url}/api/v1/repos/{shown.full_name}/languages", "html_url": page,
        "url": f"{world.url}/api/v1/repos/{shown.full_name}", "link": "",
        "ssh_url": f"ssh://forge@127.0.0.1:2222/{shown.full_name}.git", "clone_url": f"{page}.git", "original_url": "",
        "website": "", "stars_count": 0, "forks_count": 0, "watchers_count": 1,
        "open_issues_count": sum(1 for issue in open_issues if not issue.pull),
        "open_pr_counter": sum(1 for issue in open_issues if issue.pull), "release_counter": 0,
        "default_branch": shown.default_branch, "archived": bool(shown.archived), "created_at": shown.created,
        "updated_at": shown.updated, "archived_at": shown.archived or EPOCH,
        "permissions": {
            "admin": mode in ("admin", "owner"),
            "push": mode in ("write", "admin", "owner"),
            "pull": mode != "none",
        },
        **settings, **{name: value for name, value in shown.settings.items() if name in settings},
        "avatar_url": "", "internal": False, "mirror_interval": "", "object_format_name": "sha1",
        "mirror_updated": NEVER, "repo_transfer": None, "topics": [],
    }  # fmt: skip


def payload_commit(
    world: World, where: Repository, commit: Commit, changes: dict[str, str] | None, *, verified: bool = False
) -> Json:
    """A commit as in a branch and in a push; `changes` is path to A, M or D."""

    def touched(letter: str) -> list[str] | None:
        return None if changes is None else sorted(path for path, what in changes.items() if what == letter)

    return {
        "id": commit.sha, "message": commit.message,
        "url": f"{world.url}/{where.full_name}/commit/{commit.sha}",
        "author": person(world, commit.author, commit.author_email),
        "committer": person(world, commit.committer, commit.committer_email),
        "verification": dict(UNSIGNED) if verified else None, "timestamp": utc(commit.date),
        "added": touched("A"), "removed": touched("D"), "modified": touched("M"),
    }  # fmt: skip


def full_commit(world: World, where: Repository, commit: Commit, changes: dict[str, str]) -> Json:
    """A commit as in a comparison and in the list of commits."""
    api = f"{world.url}/api/v1/repos/{where.full_name}/git"
    names = {"A": "added", "M": "modified", "D": "removed"}
    return {
        "url": f"{api}/commits/{commit.sha}", "sha": commit.sha, "created": utc(commit.date),
        "html_url": f"{world.url}/{where.full_name}/commit/{commit.sha}",
        "commit": {
            "url": f"{api}/commits/{commit.sha}",
            "author": {"name": commit.author, "email": commit.author_email, "date": utc(commit.author_date)},
            "committer": {"name": commit.committer, "email": commit.committer_email, "date": utc(commit.date)},
            "message": commit.message,
            "tree": {"url": f"{api}/trees/{commit.sha}", "sha": commit.sha, "created": utc(commit.date)},
            "verification": dict(UNSIGNED),
        },
        "author": account(world, commit.author_email), "committer": account(world, commit.committer_email),
        "parents": [
            {"url": f"{api}/commits/{parent}", "sha": parent, "created": NEVER} for parent in commit.parents
        ],
        "files": [{"filename": path, "status": names[what]} for path, what in sorted(changes.items())],
        "stats": {"total": 0, "additions": 0, "deletions": 0},
    }  # fmt: skip


def status(world: World, where: Repository, shown: Status) -> Json:
    return {
        "id": shown.id, "status": shown.state, "target_url": shown.target_url, "description": shown.description,
        "url": f"{world.url}/api/v1/repos/{where.full_name}/statuses/{shown.sha}", "context": shown.context,
        "creator": user(world, shown.creator), "created_at": shown.created, "updated_at": shown.created,
    }  # fmt: skip


def person(world: World, name: str, email: str) -> Json:
    found = next((user for user in world.users.values() if user.email == email), None)
    return {"name": name, "email": email, "username": found.login if found else ""}


def account(world: World, email: str) -> Json | None:
    found = next((user for user in world.users.values() if user.email == email), None)
    return user(world, found) if found else None


def utc(date: str) -> str:
    """git's `+00:00` as the forge writes it."""
    return date.replace("+00:00", "Z")
