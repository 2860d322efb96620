"""Which objects make up an issue: the entries of its folder, each of the kind that it must be.

Nothing is followed: a symbolic link or a submodule where a file must be makes the entry
malformed (a checkout would show a file from outside the repository).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from harness.errors import BadData
from harness.objects import GITLINK, SYMLINK, Entry, parse_tree


class IssueFolder(NamedTuple):
    """Object ids (bytes) of an issue's files and folders; None: not there."""

    assignee: bytes | None
    author: bytes | None
    comments: bytes | None
    creation_time: bytes | None
    dependencies: bytes | None
    description: bytes
    done_time: bytes | None
    state: bytes | None
    tags: bytes | None


class CommentFolder(NamedTuple):
    """The same of a comment."""

    author: bytes | None
    creation_time: bytes | None
    description: bytes


_FOLDERS = frozenset(("comments", "dependencies", "tags"))


def usual_issue(width: int) -> re.Pattern[bytes]:
    """Matches the tree object of an issue that has nothing unusual; the fields are its groups."""
    return _usual(IssueFolder._fields, width)


@cache
def _usual(fields: tuple[str, ...], width: int) -> re.Pattern[bytes]:
    """1 µs for a folder, where parsing any folder takes 6."""
    parts = []
    for name in fields:
        mode = b"40000" if name in _FOLDERS else b"100644"
        entry = mode + b" " + name.encode() + rb"\0(?P<%s>.{%d})" % (name.encode(), width)
        parts.append(entry if name == "description" else b"(?:" + entry + b")?")
    return re.compile(b"".join(parts), re.DOTALL)


def issue_folder(data: bytes, width: int) -> IssueFolder:
    """What the tree object of an issue holds; `width` is the length of object ids in bytes.

    Raises:
        BadData: names the file and what is wrong with it.
    """
    usual = _usual(IssueFolder._fields, width).fullmatch(data)
    if usual:
        return IssueFolder._make(usual.groups())
    return IssueFolder(**_found(data, width, IssueFolder._fields))


def comment_folder(data: bytes, width: int) -> CommentFolder:
    """What the tree object of a comment holds.

    Raises:
        BadData: names the file and what is wrong with it.
    """
    usual = _usual(CommentFolder._fields, width).fullmatch(data)
    if usual:
        return CommentFolder._make(usual.groups())
    return CommentFolder(**_found(data, width, CommentFolder._fields))


def kind_of(entry: Entry) -> str:
    """What an entry is, for a message."""
    if entry.is_tree:
        return "a folder"
    return {SYMLINK: "a symbolic link", GITLINK: "a submodule"}.get(entry.mode, "a file")


def _found(data: bytes, width: int, names: tuple[str, ...]) -> dict[str, bytes]:
    tree = parse_tree(data, width)
    found: dict[str, bytes | None] = {name: _checked(name, tree.get(name.encode())) for name in names}
    if found["description"] is None:
        raise BadData("description: is missing")
    return found  # type: ignore[return-value]  # the keys other than description may be None


def _checked(name: str, entry: Entry | None) -> bytes | None:
    if entry is None:
        return None
    if name in ("comments", "dependencies") and not entry.is_tree:
        return None
    if entry.is_tree != (name in _FOLDERS) or entry.mode in (SYMLINK, GITLINK):
        raise BadData(f"{name}: is {kind_of(entry)}")
    return bytes.fromhex(entry.oid)
