"""The changes that can be made to a tracker: each knows its files and its commit message.

The messages are entomologist's, to the letter (`edit comment … on issue FIXME` too).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import msgspec

from ent_agent.tracker import format
from ent_agent.tracker.draft import Draft
from ent_agent.tracker.format import Instant
from ent_agent.tracker.model import NotFound, State
from harness.errors import BadData
from harness.git import Person


def new_id() -> str:
    """128 random bits as 32 hexadecimal digits."""
    return secrets.token_hex(16)


class Change(msgspec.Struct, frozen=True):
    """One change, one commit."""

    def apply(self, draft: Draft) -> str:
        """Make the change in `draft`, and return the commit message.

        Raises:
            NotFound: the issue, comment or tag is not there.
            BadData: what is there, or the new value, does not allow it.
        """
        raise NotImplementedError

    def then(self) -> Sequence[Change]:
        """Changes that entomologist makes after this one, each in a commit of its own."""
        return ()


class SetState(Change, frozen=True):
    issue: str
    state: State

    def apply(self, draft: Draft) -> str:
        folder = _issue(draft, self.issue)
        old = draft.read(folder, b"state")
        draft.put((folder, b"state"), self.state.encode())
        return f"change state of issue {self.issue}, {_old_state(old)} -> {self.state}"

    def then(self) -> Sequence[Change]:
        return (SetDoneTime(self.issue, format.now()),) if self.state == "done" else ()


class SetAssignee(Change, frozen=True):
    """`assignee` None takes the file away (which entomologist itself cannot)."""

    issue: str
    assignee: str | None

    def apply(self, draft: Draft) -> str:
        folder = _issue(draft, self.issue)
        old = draft.read(folder, b"assignee")
        if self.assignee is None:
            draft.remove(folder, b"assignee")
        else:
            draft.put((folder, b"assignee"), self.assignee.encode())
        before = "None" if old is None else format.trim(old.decode("utf-8", "replace"))
        after = "None" if self.assignee is None else self.assignee
        return f"change assignee of issue {self.issue}, {before} -> {after}"


class SetDoneTime(Change, frozen=True):
    issue: str
    time: Instant

    def apply(self, draft: Draft) -> str:
        folder = _issue(draft, self.issue)
        draft.put((folder, b"done_time"), format.write_time(self.time).encode())
        return f"set done-time of issue {self.issue} to {format.display_time(self.time)}"


class SetDescription(Change, frozen=True):
    issue: str
    text: str

    def apply(self, draft: Draft) -> str:
        draft.put((_issue(draft, self.issue), b"description"), _filled(self.text))
        return f"edit description of issue {self.issue}"


class NewIssue(Change, frozen=True, kw_only=True):
    """`state`, `assignee` None: no such file, as entomologist makes it."""

    text: str
    author: Person
    id: str = msgspec.field(default_factory=new_id)
    time: Instant = msgspec.field(default_factory=format.now)
    state: State | None = None
    assignee: str | None = None
    tags: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()

    def apply(self, draft: Draft) -> str:
        folder = self.id.encode()
        if draft.entry(folder):
            raise BadData(f"issue {self.id} is there already")
        _put_text(draft, (folder,), self.text, self.author, self.time)
        if self.state is not None:
            draft.put((folder, b"state"), self.state.encode())
        if self.assignee is not None:
            draft.put((folder, b"assignee"), self.assignee.encode())
        for tag in self.tags:
            draft.put((folder, b"tags", _tag_file(tag)), b"")
        for dependency in self.dependencies:
            draft.put((folder, b"dependencies", dependency.encode()), b"")
        return f"create new issue {self.id}"


class AddComment(Change, frozen=True, kw_only=True):
    issue: str
    text: str
    author: Person
    id: str = msgspec.field(default_factory=new_id)
    time: Instant = msgspec.field(default_factory=format.now)

    def apply(self, draft: Draft) -> str:
        folder = (_issue(draft, self.issue), b"comments", self.id.encode())
        if draft.entry(*folder):
            raise BadData(f"comment {self.id} is there already")
        _put_text(draft, folder, self.text, self.author, self.time)
        return f"add comment {self.id} on issue {self.issue}"


class EditComment(Change, frozen=True):
    issue: str
    comment: str
    text: str

    def apply(self, draft: Draft) -> str:
        path = (_issue(draft, self.issue), b"comments", self.comment.encode(), b"description")
        if draft.read(*path) is None:
            raise NotFound(f"comment {self.comment} not found")
        draft.put(path, _filled(self.text))
        return f"edit comment {self.comment} on issue FIXME"


class AddTag(Change, frozen=True):
    issue: str
    tag: str

    def apply(self, draft: Draft) -> str:
        folder = _issue(draft, self.issue)
        tags = _tags(draft, folder)
        if self.tag not in tags:
            _put_tags(draft, folder, [*tags, self.tag])
        return f"issue {self.issue} add tag {self.tag}"


class RemoveTag(Change, frozen=True):
    issue: str
    tag: str

    def apply(self, draft: Draft) -> str:
        folder = _issue(draft, self.issue)
        tags = _tags(draft, folder)
        if self.tag not in tags:
            raise NotFound(f"tag {self.tag} not found")
        _put_tags(draft, folder, [tag for tag in tags if tag != self.tag])
        return f"issue {self.issue} remove tag {self.tag}"


class AddDependency(Change, frozen=True):
    issue: str
    dependency: str

    def apply(self, draft: Draft) -> str:
        if not is_issue(draft, self.dependency):
            raise NotFound(f"dependency {self.dependency} not found")
        folder = _issue(draft, self.issue)
        if self.dependency == self.issue:
            raise BadData("Self-dependency not allowed")
        path = (folder, b"dependencies", self.dependency.encode())
        if draft.entry(*path):
            raise BadData("Dependency already exists")
        draft.put(path, b"")
        return f"add dep {self.dependency} to issue {self.issue}"


# ---- what they have in common


def is_issue(draft: Draft, issue_id: str) -> bool:
    """Whether an issue's folder is there, readable or not."""
    try:
        entry = draft.entry(issue_id.encode()) if issue_id else None
    except UnicodeEncodeError:
        return False
    return entry is not None and entry.is_tree


def _issue(draft: Draft, issue_id: str) -> bytes:
    if not is_issue(draft, issue_id):
        raise NotFound(f"issue {issue_id} not found")
    return issue_id.encode()


def _old_state(data: bytes | None) -> str:
    try:
        return "new" if data is None else format.parse_state(data)
    except BadData:
        return "unreadable"


def _filled(text: str) -> bytes:
    if not text:
        raise BadData("supplied description is empty")
    return text.encode()


def _put_text(draft: Draft, folder: tuple[bytes, ...], text: str, author: Person, time: Instant) -> None:
    draft.put((*folder, b"author"), str(author).encode())
    draft.put((*folder, b"creation_time"), format.write_time(time).encode())
    draft.put((*folder, b"description"), _filled(text))


def _tags(draft: Draft, folder: bytes) -> list[str]:
    entry = draft.entry(folder, b"tags")
    if entry and not entry.is_tree:
        raise BadData("tags: is not a folder")
    names = (name.decode("utf-8", "replace") for name in draft.names(folder, b"tags"))
    return [format.unescape_tag(name) for name in names]


def _put_tags(draft: Draft, folder: bytes, tags: Sequence[str]) -> None:
    """Write the whole folder anew, with empty files, as entomologist does."""
    draft.remove(folder, b"tags")
    for tag in tags:
        draft.put((folder, b"tags", _tag_file(tag)), b"")


def _tag_file(tag: str) -> bytes:
    if not tag:
        raise BadData("invalid zero-length tag")
    return format.escape_tag(tag).encode()
