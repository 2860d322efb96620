"""git objects: read through one `git cat-file --batch-command` process, written by `git hash-object`.

Trees are dicts from name (bytes) to `Entry(mode, oid)`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.cat_file import CatFile
from harness.errors import BadData
from harness.git import Person

if TYPE_CHECKING:
    from harness.git import Git

TREE = 0o40000
FILE = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000
GITLINK = 0o160000

_ENTRY = {width: re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % width, re.DOTALL) for width in (20, 32)}


class Entry(NamedTuple):
    """One line of a tree."""

    mode: int
    oid: str

    @property
    def is_tree(self) -> bool:
        return self.mode == TREE

    @property
    def is_file(self) -> bool:
        return self.mode in (FILE, EXECUTABLE)


Tree = dict[bytes, Entry]


class Objects:
    """The objects of one repository. A read within a read, or in another thread, gets a process of its own."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._cat_file = CatFile(git)

    # ---- read

    def read(self, oid: str) -> bytes:
        """The content of an object (an id, or any name that `cat-file` resolves).

        Raises:
            BadData: there is no such object.
        """
        return next(self.read_many([oid]))

    def resolve(self, name: str) -> str | None:
        """The id that a full ref name stands for just now, without a process of its own; None: no such ref."""
        return self._cat_file.resolve(name)

    def read_many(self, oids: Iterable[str]) -> Iterator[bytes]:
        """The contents of many objects, in order; requests are sent ahead of the answers.

        Raises:
            BadData: one of them is not there.
        """
        pending = list(oids)
        answers = itertools.chain.from_iterable(self._cat_file.contents(pending))
        for oid, data in zip(pending, answers, strict=True):
            if data is None:
                raise BadData(f"object {oid} is not in {self._git.git_dir}")
            yield data

    def find_many(self, oids: Sequence[str]) -> Iterator[bytes | None]:
        """The contents of many objects, in order; None for those that are not there."""
        return itertools.chain.from_iterable(self._cat_file.contents(oids))

    def about_many(self, oids: Sequence[str]) -> list[tuple[str, int] | None]:
        """Kind and size of many objects, in order, without reading them; None for those that are not there."""
        headers = itertools.chain.from_iterable(self._cat_file.headers(oids))
        words = (header.decode("utf-8", "replace").split() for header in headers)
        return [(word[1], int(word[2])) if len(word) == 3 and word[2].isdigit() else None for word in words]

    def tree(self, oid: str) -> Tree:
        return parse_tree(self.read(oid), len(oid) // 2)

    def trees(self, oids: Iterable[str]) -> Iterator[Tree]:
        pending = list(oids)
        width = len(pending[0]) // 2 if pending else 20
        return (parse_tree(data, width) for data in self.read_many(pending))

    def tree_of(self, commit: str) -> str:
        """The id of a commit's root tree."""
        data = self.read(commit)
        if not data.startswith(b"tree "):
            raise BadData(f"{commit} is not a commit")
        return data[5 : data.index(b"\n")].decode("ascii")

    # ---- write

    def write(self, kind: str, data: bytes) -> str:
        """Store an object ("blob" or "tree"), where it is not there yet, and return its id."""
        from harness.packing import object_id

        oid = object_id(kind, data)
        if self.about_many([oid])[0] == (kind, len(data)):
            return oid
        return self._git.text("hash-object", "-w", "-t", kind, "--stdin", stdin=data)

    def write_many(self, objects: Sequence[tuple[str, bytes]], oid_bytes: int = 20) -> list[str]:
        """Store many objects (kind, content) with one process, and return their ids."""
        from harness.packing import object_id, pack

        if objects:
            self._git.run("unpack-objects", "-q", stdin=pack(objects, oid_bytes))
        return [object_id(kind, data, oid_bytes) for kind, data in objects]

    def write_tree(self, tree: Mapping[bytes, Entry]) -> str:
        return self.write("tree", format_tree(tree))

    def write_commit(
        self,
        tree: str,
        parents: Iterable[str],
        message: str,
        *,
        author: Person | None = None,
        timestamp: int | None = None,
        sign: bool = False,
    ) -> str:
        """Store a commit (`git commit-tree`) and return its id.

        The message is cleaned as `git commit` does it (git-stripspace(1)).
        `timestamp` (seconds since the epoch) stands for author and committer time.
        """
        args = [word for parent in parents for word in ("-p", parent)]
        env: dict[str, str] = {}
        if author:
            env |= {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.email}
        if timestamp is not None:
            env |= {"GIT_AUTHOR_DATE": f"@{timestamp} +0000", "GIT_COMMITTER_DATE": f"@{timestamp} +0000"}
        signing = ["-S"] if sign else []
        return self._git.run(
            "commit-tree", *signing, *args, tree, stdin=clean(message).encode(), env=env
        ).text.strip()

    def close(self) -> None:
        self._cat_file.close()


def parse_tree(data: bytes, oid_bytes: int = 20) -> Tree:
    """A tree object's content; `oid_bytes` is 32 in a SHA-256 repository."""
    return {name: Entry(int(mode, 8), oid.hex()) for mode, name, oid in split_tree(data, oid_bytes)}


def split_tree(data: bytes, oid_bytes: int = 20) -> list[tuple[bytes, bytes, bytes]]:
    """The same as it stands there: mode in octal digits, name, object id; for trees of thousands of entries."""
    return _ENTRY[oid_bytes].findall(data)


def format_tree(tree: Mapping[bytes, Entry]) -> bytes:
    """The inverse of `parse_tree`, in git's order (a folder sorts as if its name ended in /)."""

    def place(item: tuple[bytes, Entry]) -> bytes:
        return item[0] + b"/" if item[1].is_tree else item[0]

    return b"".join(
        b"%o %s\0" % (entry.mode, name) + bytes.fromhex(entry.oid)
        for name, entry in sorted(tree.items(), key=place)
    )


def clean(message: str) -> str:
    """A commit message as `git commit` cleans it (git-stripspace(1)): no blanks at line ends, no runs of blank lines.

    NUL, which a commit cannot hold, is left out.
    """
    lines = [line.rstrip(" \t\n\r") for line in message.replace("\0", "").split("\n")]
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    text = "\n".join(kept).strip("\n")
    return text and text + "\n"
