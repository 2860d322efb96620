"""The values that an agent may write: each looked at before it is read, and read before it is taken.

An agent's tree may hold anything: objects that are not there, files of gigabytes, links,
names that no checkout takes. What is refused raises `BadData` with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ent_agent.tracker.format import decode, parse_state, parse_time, trim, unescape_tag
from harness.errors import BadData
from harness.git import Git
from harness.objects import FILE, Entry, Tree, format_tree, parse_tree

MAX_ROOT_BYTES = 64 << 20  # a million issues
MAX_FOLDER_BYTES = 4 << 20
MAX_TEXT_BYTES = 1 << 20
MAX_ALL_TEXTS_BYTES = 16 << 20
MAX_LINE_BYTES = 1000
MAX_NAME_BYTES = 255

_ID = re.compile(rb"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Contents:
    """The objects below an agent's commit. The texts read through one of these are limited in all."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._about: dict[str, tuple[str, int]] = {}
        self._bytes_left = MAX_ALL_TEXTS_BYTES

    def root(self, commit: str) -> Tree:
        """The top of a commit."""
        self._look([commit])
        self._expect(commit, "commit", MAX_TEXT_BYTES)
        tree = self._git.objects.tree_of(commit)
        self._look([tree])
        return self._tree(tree, MAX_ROOT_BYTES)

    def folder(self, entry: Entry | None) -> Tree:
        """The entries of a folder; none where there is none."""
        if entry is None:
            return {}
        if not entry.is_tree:
            raise BadData("is not a folder")
        self._look([entry.oid])
        tree = self._tree(entry.oid, MAX_FOLDER_BYTES)
        self._look(child.oid for child in tree.values())
        return tree

    def text(self, entry: Entry | None) -> str:
        """The text of a file."""
        if entry is None:
            raise BadData("is missing")
        if not entry.is_file:
            raise BadData("is not a file")
        self._look([entry.oid])
        size = self._expect(entry.oid, "blob", MAX_TEXT_BYTES)
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise BadData(f"is one text too many: over {MAX_ALL_TEXTS_BYTES >> 20} MiB in one run")
        return decode(self._git.objects.read(entry.oid))

    def line(self, entry: Entry | None) -> str:
        """The text of a file that holds one short line, trimmed."""
        text = trim(self.text(entry))
        if len(text.encode()) > MAX_LINE_BYTES or _CONTROL.search(text):
            raise BadData("is not one short line")
        return text

    def _tree(self, oid: str, max_bytes: int) -> Tree:
        self._expect(oid, "tree", max_bytes)
        data = self._git.objects.read(oid)
        tree = parse_tree(data, len(oid) // 2)
        if format_tree(tree) != data:
            raise BadData("is a tree that git would not have written")
        return tree

    def _look(self, oids: Iterable[str]) -> None:
        """Ask for kind and size of many objects at once, without reading them."""
        unknown = [oid for oid in dict.fromkeys(oids) if oid not in self._about]
        if not unknown:
            return
        for oid, about in zip(unknown, self._git.objects.about_many(unknown), strict=True):
            self._about[oid] = about or ("", 0)

    def _expect(self, oid: str, kind: str, max_bytes: int) -> int:
        found, size = self._about[oid]
        if found != kind:
            raise BadData(f"is not a readable {kind}" if found else f"names a {kind} that is not there")
        if size > max_bytes:
            raise BadData(f"is larger than {max_bytes >> 20} MiB")
        return size


# ---- single values: each returns the entry as it is to be written


def description(contents: Contents, entry: Entry | None) -> Entry:
    if not trim(contents.text(entry)):
        raise BadData("is blank")
    return _plain(entry)


def state(contents: Contents, entry: Entry | None) -> Entry:
    parse_state(contents.line(entry).encode())
    return _plain(entry)


def time(contents: Contents, entry: Entry | None) -> Entry:
    parse_time(contents.line(entry))
    return _plain(entry)


def line(contents: Contents, entry: Entry | None) -> Entry:
    contents.line(entry)
    return _plain(entry)


def _plain(entry: Entry | None) -> Entry:
    assert entry
    return Entry(FILE, entry.oid)


# ---- names


def check_id(name: bytes) -> None:
    """The id of a new issue or comment: such as a program makes them, never a path."""
    if not _ID.fullmatch(name):
        raise BadData("is not a plain id")


def check_tag(name: bytes) -> None:
    """The name of a file in `tags/`."""
    tag = unescape_tag(decode(name))
    if not trim(tag) or name in (b".", b"..") or _CONTROL.search(tag) or len(name) > MAX_NAME_BYTES:
        raise BadData("is not a plain tag")
