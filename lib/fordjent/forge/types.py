"""What the forge answers. Unknown fields are ignored; missing and `null` ones have their defaults."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fordjent.forge.code_types import (
    Branch,
    BranchCommit,
    ChangedFile,
    CombinedStatus,
    Commit,
    Comparison,
    Entry,
    Message,
    Repository,
    Rights,
    Status,
    Tree,
    TreeEntry,
)
from fordjent.forge.server_types import NEVER, Hook, Limits, Permission, Token, Ui, User, Version

__all__ = [
    "NEVER",
    "Branch",
    "BranchCommit",
    "ChangedFile",
    "CombinedStatus",
    "Comment",
    "Commit",
    "Comparison",
    "Entry",
    "Home",
    "Hook",
    "Issue",
    "Label",
    "Limits",
    "Message",
    "Permission",
    "Pull",
    "PullOfIssue",
    "Reaction",
    "Repository",
    "Review",
    "ReviewComment",
    "Rights",
    "Side",
    "Status",
    "Token",
    "Tree",
    "TreeEntry",
    "Ui",
    "User",
    "Version",
]


class Label(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    color: str = ""
    description: str = ""
    exclusive: bool = False
    is_archived: bool = False


class PullOfIssue(msgspec.Struct, frozen=True, kw_only=True):
    """What an issue that is a pull request says of it."""

    merged: bool = False
    merged_at: datetime | None = None
    draft: bool = False


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """The repository of an issue."""

    full_name: str = ""


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue or a pull request: they share their numbers."""

    number: int
    id: int = 0
    title: str = ""
    body: str = ""
    state: str = "open"
    user: User = User()
    labels: list[Label] = []
    assignees: list[User] = []
    comments: int = 0
    is_locked: bool = False
    html_url: str = ""
    created_at: datetime = NEVER
    updated_at: datetime = NEVER
    closed_at: datetime | None = None
    pull_request: PullOfIssue | None = None
    repository: Home = Home()

    @property
    def is_pull(self) -> bool:
        return self.pull_request is not None

    @property
    def label_names(self) -> list[str]:
        return [label.name for label in self.labels]

    @property
    def is_done(self) -> bool:
        """Closed, or, of a pull request, merged."""
        return self.pull_request.merged if self.pull_request else self.state == "closed"


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    body: str = ""
    user: User = User()
    html_url: str = ""
    issue_url: str = ""
    pull_request_url: str = ""
    created_at: datetime = NEVER
    updated_at: datetime = NEVER

    @property
    def number(self) -> int:
        """Of the issue or pull request that it stands on; 0: not told."""
        last = (self.pull_request_url or self.issue_url).rpartition("/")[2]
        return int(last) if last.isdecimal() else 0

    @property
    def is_on_pull(self) -> bool:
        return bool(self.pull_request_url)


class Reaction(msgspec.Struct, frozen=True, kw_only=True):
    content: str
    user: User = User()


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Head or base of a pull request."""

    ref: str = ""
    sha: str = ""
    repo_id: int = 0
    repo: Repository | None = None


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    id: int = 0
    title: str = ""
    body: str = ""
    state: str = "open"
    user: User = User()
    labels: list[Label] = []
    assignees: list[User] = []
    requested_reviewers: list[User] = []
    draft: bool = False
    mergeable: bool = False
    """False also while the server is still looking, and for drafts."""
    merged: bool = False
    merged_at: datetime | None = None
    merge_commit_sha: str = ""
    merge_base: str = ""
    head: Side = Side()
    base: Side = Side()
    html_url: str = ""
    created_at: datetime = NEVER
    updated_at: datetime = NEVER
    closed_at: datetime | None = None
    taken_up: bool = False
    """`pulls.create` only: it was open already."""

    @property
    def label_names(self) -> list[str]:
        return [label.name for label in self.labels]

    @property
    def is_from_here(self) -> bool:
        """Whether its head is a branch of the same repository, not of a fork."""
        return self.head.repo_id == self.base.repo_id


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """`state`: APPROVED, REQUEST_CHANGES, COMMENT, PENDING or REQUEST_REVIEW."""

    id: int
    user: User = User()
    state: str = ""
    body: str = ""
    commit_id: str = ""
    stale: bool = False
    official: bool = False
    dismissed: bool = False
    comments_count: int = 0
    html_url: str = ""
    submitted_at: datetime = NEVER


class ReviewComment(msgspec.Struct, frozen=True, kw_only=True):
    """A remark at a line; `position` is the line in the new file, `original_position` in the old; 0: neither."""

    id: int
    body: str = ""
    user: User = User()
    path: str = ""
    position: int = 0
    original_position: int = 0
    diff_hunk: str = ""
    commit_id: str = ""
    html_url: str = ""
    created_at: datetime = NEVER
