"""What the stand-in knows: users, repositories, issues, pulls. In memory, guarded by one lock."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.forge.bare import Bare

MODES = ("none", "read", "write", "admin", "owner")


def now() -> str:
    """The time as the forge writes it: whole seconds, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class User:
    id: int
    login: str
    email: str = ""
    is_admin: bool = False
    is_organization: bool = False
    password: str = ""
    created: str = field(default_factory=now)


@dataclass
class Token:
    id: int
    user: User
    name: str
    secret: str
    scopes: tuple[str, ...] = ("all",)


@dataclass
class Label:
    id: int
    name: str
    color: str
    description: str = ""
    exclusive: bool = False
    is_archived: bool = False


@dataclass
class Milestone:
    id: int
    title: str
    description: str = ""
    created: str = field(default_factory=now)


@dataclass
class Reaction:
    user: User
    content: str
    created: str = field(default_factory=now)


@dataclass
class Comment:
    id: int
    user: User
    body: str
    created: str = field(default_factory=now)
    updated: str = field(default_factory=now)
    reactions: list[Reaction] = field(default_factory=list)


@dataclass
class InlineComment:
    id: int
    user: User
    path: str
    position: int
    body: str
    commit_id: str
    diff_hunk: str
    created: str = field(default_factory=now)


@dataclass
class Review:
    id: int
    user: User
    state: str
    body: str = ""
    commit_id: str = ""
    comment_id: int = 0
    official: bool = False
    stale: bool = False
    dismissed: bool = False
    created: str = field(default_factory=now)
    comments: list[InlineComment] = field(default_factory=list)


@dataclass
class Pull:
    """The pull request half of an issue. `checked` is False while the forge still works out `mergeable`."""

    id: int
    head_branch: str
    base_branch: str
    head: str
    merge_base: str
    mergeable: bool = False
    checked: bool = False
    checked_from: float = 0.0
    merged_at: str | None = None
    merged_by: User | None = None
    merge_commit: str | None = None
    head_deleted: bool = False
    reviews: list[Review] = field(default_factory=list)


@dataclass
class Issue:
    id: int
    number: int
    user: User
    title: str
    body: str = ""
    state: str = "open"
    labels: list[Label] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    milestone: Milestone | None = None
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    dependencies: list[tuple[Repository, int]] = field(default_factory=list)
    pull: Pull | None = None
    created: str = field(default_factory=now)
    updated: str = field(default_factory=now)
    closed: str | None = None
    # Counted when a comment comes or goes, and only then: reviews count, but do not cause it.
    comments_counted: int = 0
    # What `timeline` tells besides comments, as (type, user, fields), and what it told last.
    timeline: list[tuple[str, User, dict[str, Any], str]] = field(default_factory=list)
    labels_told: dict[str, Label] = field(default_factory=dict)
    assignees_told: dict[str, User] = field(default_factory=dict)

    def count_comments(self) -> None:
        reviews = self.pull.reviews if self.pull else []
        self.comments_counted = len(self.comments) + sum(1 for review in reviews if review.comment_id)

    @property
    def is_draft(self) -> bool:
        return self.title.upper().startswith(("WIP:", "[WIP]"))


@dataclass
class Hook:
    id: int
    url: str
    secret: str
    content_type: str
    events: list[str]
    active: bool = True
    branch_filter: str = "*"
    authorization: str = ""
    created: str = field(default_factory=now)


@dataclass
class Status:
    id: int
    sha: str
    context: str
    state: str
    creator: User
    description: str = ""
    target_url: str = ""
    created: str = field(default_factory=now)


@dataclass
class Repository:
    id: int
    owner: User
    name: str
    bare: Bare
    default_branch: str
    description: str = ""
    private: bool = False
    archived: str | None = None
    collaborators: dict[str, str] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)
    milestones: list[Milestone] = field(default_factory=list)
    issues: dict[int, Issue] = field(default_factory=dict)
    hooks: list[Hook] = field(default_factory=list)
    protections: dict[str, dict[str, object]] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    settings: dict[str, object] = field(default_factory=dict)
    created: str = field(default_factory=now)
    updated: str = field(default_factory=now)

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def mode(self, user: User | None) -> str:
        """owner | admin | write | read | none."""
        if user is None:
            return "none" if self.private else "read"
        if user is self.owner or user.is_admin:
            return "owner"
        return self.collaborators.get(user.login, "none" if self.private else "read")

    def allows(self, user: User | None, wanted: str) -> bool:
        return MODES.index(self.mode(user)) >= MODES.index(wanted)

    def pulls(self) -> Iterator[tuple[Issue, Pull]]:
        for issue in self.issues.values():
            if issue.pull:
                yield issue, issue.pull


@dataclass
class World:
    """Everything, and the lock that whoever reads or changes it holds."""

    folder: Path
    url: str = ""
    users: dict[str, User] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    repositories: dict[str, Repository] = field(default_factory=dict)
    organization_labels: dict[str, list[Label]] = field(default_factory=dict)
    allowed_reactions: tuple[str, ...] = (
        "+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes",
    )  # fmt: skip
    checking_seconds: float = 0.05
    lock: threading.RLock = field(default_factory=threading.RLock)
    counters: dict[str, itertools.count[int]] = field(default_factory=dict)

    def next_id(self, kind: str) -> int:
        return next(self.counters.setdefault(kind, itertools.count(1)))

    def start_checking(self, pull: Pull) -> None:
        """From now on nobody knows whether it can be merged, for `checking_seconds`."""
        pull.checked, pull.mergeable = False, False
        pull.checked_from = time.monotonic() + self.checking_seconds
