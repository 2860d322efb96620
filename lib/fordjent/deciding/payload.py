"""The parts of Forgejo's webhook documents that are read. Everything else in them is passed over; null is nothing."""

from __future__ import annotations

from datetime import datetime

import msgspec


class User(msgspec.Struct, frozen=True):
    login: str = ""


class Named(msgspec.Struct, frozen=True):
    """A label."""

    name: str = ""


class Repository(msgspec.Struct, frozen=True):
    full_name: str = ""
    default_branch: str = ""


class Branch(msgspec.Struct, frozen=True):
    ref: str = ""
    sha: str = ""
    repo: Repository | None = None


class PullMark(msgspec.Struct, frozen=True):
    """Stands in an issue that is a pull request."""

    merged: bool | None = False
    draft: bool | None = False


class Issue(msgspec.Struct, frozen=True):
    number: int = 0
    user: User | None = None
    title: str = ""
    body: str | None = ""
    labels: list[Named] | None = None
    assignees: list[User] | None = None
    state: str = ""
    pull_request: PullMark | None = None
    updated_at: datetime | None = None


class Pull(msgspec.Struct, frozen=True):
    number: int = 0
    user: User | None = None
    title: str = ""
    body: str | None = ""
    labels: list[Named] | None = None
    assignees: list[User] | None = None
    state: str = ""
    merged: bool | None = False
    draft: bool | None = False
    head: Branch | None = None
    base: Branch | None = None
    updated_at: datetime | None = None


class Comment(msgspec.Struct, frozen=True):
    id: int = 0
    body: str | None = ""
    user: User | None = None
    updated_at: datetime | None = None


class Review(msgspec.Struct, frozen=True):
    """Of a review the document has neither the id nor the inline comments."""

    type: str = ""
    content: str | None = ""


class Commit(msgspec.Struct, frozen=True):
    message: str | None = ""


class From(msgspec.Struct, frozen=True):
    """The old value."""

    from_: str | None = msgspec.field(name="from", default=None)


class Changes(msgspec.Struct, frozen=True):
    title: From | None = None


class Payload(msgspec.Struct, frozen=True):
    action: str | None = ""
    issue: Issue | None = None
    pull_request: Pull | None = None
    comment: Comment | None = None
    review: Review | None = None
    changes: Changes | None = None
    repository: Repository | None = None
    sender: User | None = None
    is_pull: bool | None = None
    ref: str | None = ""
    before: str | None = ""
    after: str | None = ""
    head_commit: Commit | None = None
