"""Repositories and what is in them as the forge answers them (`types` has them all)."""

from __future__ import annotations

from base64 import b64decode
from datetime import datetime

import msgspec

from fordjent.forge.server_types import NEVER, User


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


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    filename: str
    status: str = ""
    previous_filename: str = ""
    additions: int = 0
    deletions: int = 0
    changes: int = 0


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
