"""What the forge answers. Unknown fields are ignored; missing and `null` ones have their defaults."""

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime

import msgspec

NEVER = datetime(1, 1, 1, tzinfo=UTC)


class User(msgspec.Struct, frozen=True, kw_only=True):
    id: int = 0
    login: str = ""
    full_name: str = ""
    email: str = ""
    is_admin: bool = False


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


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """What the token's account may do in a repository."""

    admin: bool = False
    push: bool = False
    pull: bool = False


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    full_name: str
    id: int = 0
    owner: User = User()
    name: str = ""
    default_branch: str = ""
    empty: bool = False
    archived: bool = False
    private: bool = False
    fork: bool = False
    has_issues: bool = True
    has_pull_requests: bool = True
    clone_url: str = ""
    html_url: str = ""
    permissions: Rights = Rights()
    default_merge_style: str = "merge"
    allow_merge_commits: bool = True
    allow_rebase: bool = True
    allow_rebase_explicit: bool = True
    allow_squash_merge: bool = True
    allow_fast_forward_only_merge: bool = False


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


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    filename: str
    status: str = ""
    previous_filename: str = ""
    additions: int = 0
    deletions: int = 0
    changes: int = 0


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


class BranchCommit(msgspec.Struct, frozen=True, kw_only=True):
    id: str = ""
    message: str = ""


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    commit: BranchCommit = BranchCommit()
    protected: bool = False
    required_approvals: int = 0
    enable_status_check: bool = False
    status_check_contexts: list[str] = []
    user_can_push: bool = False
    user_can_merge: bool = False


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook; the forge never tells its secret."""

    id: int
    type: str = ""
    active: bool = False
    events: list[str] = []
    config: dict[str, str] = {}
    branch_filter: str = ""

    @property
    def url(self) -> str:
        return self.config.get("url", "")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder; `type`: file, dir, symlink or submodule."""

    path: str
    name: str = ""
    type: str = ""
    size: int = 0
    sha: str = ""
    encoding: str = ""
    content: str = ""

    @property
    def data(self) -> bytes:
        return b64decode(self.content)


class TreeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`type`: blob, tree or commit (a submodule)."""

    path: str
    mode: str = ""
    type: str = ""
    size: int = 0
    sha: str = ""


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    sha: str = ""
    tree: list[TreeEntry] = []
    truncated: bool = False
    total_count: int = 0


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """`status`: pending, success, error, failure or warning."""

    id: int = 0
    status: str = ""
    context: str = ""
    description: str = ""
    target_url: str = ""
    created_at: datetime = NEVER


class CombinedStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is empty where nothing was reported."""

    state: str = ""
    sha: str = ""
    total_count: int = 0
    statuses: list[Status] = []


class Message(msgspec.Struct, frozen=True, kw_only=True):
    message: str = ""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    sha: str
    commit: Message = Message()
    author: User = User()
    html_url: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    total_commits: int = 0
    commits: list[Commit] = []
    files: list[ChangedFile] = []
    """One of them may stand there once for each commit."""


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    permission: str = "none"
    role_name: str = ""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """`sha1` is the token itself; it is told once."""

    id: int
    name: str = ""
    sha1: str = ""
    token_last_eight: str = ""
    scopes: list[str] = []


class Ui(msgspec.Struct, frozen=True, kw_only=True):
    allowed_reactions: list[str] = []
    custom_emojis: list[str] = []


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    max_response_items: int = 50
    default_paging_num: int = 30
    default_max_blob_size: int = 0


class Version(msgspec.Struct, frozen=True, kw_only=True):
    version: str = ""
