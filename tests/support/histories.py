"""Random histories of a tracker on three replicas, in memory or on real git, and what must hold of their merges."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ent_agent.tracker.merge import merge_bases, merged_tree
from ent_agent.tracker.merge_clock import Given, Side
from ent_agent.tracker.merge_issues import merge_trees
from harness.git import Git, Person, init_bare
from harness.objects import FILE, TREE, Entry, Objects, Tree, format_tree, parse_tree

BEGINNING = 1_700_000_000


class MemoryObjects:
    """What a merge needs of `Objects`, in a dict."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def read(self, oid: str) -> bytes:
        return self._contents[oid]

    def tree(self, oid: str) -> Tree:
        return parse_tree(self._contents[oid])

    def write(self, kind: str, data: bytes) -> str:
        oid = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()
        self._contents[oid] = data
        return oid

    def write_tree(self, tree: Mapping[bytes, Entry]) -> str:
        return self.write("tree", format_tree(tree))


class LooseObjects(Objects):
    """`Objects` that writes loose objects itself: a history of hundreds of them in a second."""

    def __init__(self, git: Git) -> None:
        super().__init__(git)
        self._folder = git.git_dir / "objects"

    def write(self, kind: str, data: bytes) -> str:
        raw = b"%s %d\0" % (kind.encode(), len(data)) + data
        oid = hashlib.sha1(raw).hexdigest()
        path = self._folder / oid[:2] / oid[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(raw, 1))
        return oid


class History(Protocol):
    """Commits by id; what a replica does with them."""

    @property
    def objects(self) -> MemoryObjects | Objects: ...

    def commit(self, tree: str, parents: list[str], time: int, author: str) -> str: ...

    def tree_of(self, commit: str) -> str: ...

    def ancestors(self, commit: str) -> set[str]: ...

    def bases(self, one: str, other: str) -> list[str]: ...

    def merged(self, one: str, other: str) -> str: ...


@dataclass
class Commit:
    tree: str
    parents: list[str]
    given: Given


@dataclass
class MemoryHistory:
    """Commits in a dict, with a clock of its own: slow, short, and made without git."""

    objects: MemoryObjects = field(default_factory=MemoryObjects)
    commits: dict[str, Commit] = field(default_factory=dict)

    def commit(self, tree: str, parents: list[str], time: int, author: str) -> str:
        commit = str(len(self.commits)).zfill(6)
        self.commits[commit] = Commit(tree, parents, Given(time, author))
        return commit

    def tree_of(self, commit: str) -> str:
        return self.commits[commit].tree

    def ancestors(self, commit: str) -> set[str]:
        seen: set[str] = set()
        pending = [commit]
        while pending:
            one = pending.pop()
            if one not in seen:
                seen.add(one)
                pending += self.commits[one].parents
        return seen

    def bases(self, one: str, other: str) -> list[str]:
        common = self.ancestors(one) & self.ancestors(other)
        return sorted(x for x in common if not any(x != y and x in self.ancestors(y) for y in common))

    def merged(self, one: str, other: str) -> str:
        bases = self.bases(one, other)
        base = self.tree_of(bases[0]) if bases else None
        first = bases[0] if bases else ""
        for another in bases[1:]:
            base = self.merged(first, another)
            first = self.commit(base, [first, another], 0, "virtual <>")
        known = set().union(*(self.ancestors(x) for x in bases)) if bases else set()

        def clock(side: Side, path: bytes) -> Given:
            return self._given(one if side == "ours" else other, known, path)

        return merge_trees(self.objects, base, self.tree_of(one), self.tree_of(other), clock)

    def _given(self, tip: str, known: set[str], path: bytes) -> Given:
        """Who gave `path` its value: back along the parents that have the same."""
        commit = tip
        while commit not in known:
            about = self.commits[commit]
            value = at(self.objects, about.tree, path)
            same = [
                parent for parent in about.parents if at(self.objects, self.tree_of(parent), path) == value
            ]
            if not same and (about.parents or value):
                return about.given
            if not same:
                break
            commit = next((parent for parent in same if parent not in known), same[0])
        return self.commits[tip].given


@dataclass
class GitHistory:
    """The same on real git."""

    git: Git

    @classmethod
    def create(cls, folder: os.PathLike[str]) -> GitHistory:
        from pathlib import Path

        init_bare(Path(folder))
        git = Git(Path(folder), person=Person("Merger", "merger@example.org"))
        git.__dict__["objects"] = LooseObjects(git)
        return cls(git)

    @property
    def objects(self) -> Objects:
        return self.git.objects

    def commit(self, tree: str, parents: list[str], time: int, author: str) -> str:
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {author} {time} +0000", f"committer {author} {time} +0000", "", "change", ""]
        return self.objects.write("commit", "\n".join(lines).encode())

    def tree_of(self, commit: str) -> str:
        return self.objects.tree_of(commit)

    def ancestors(self, commit: str) -> set[str]:
        return set(self.git.lines("rev-list", commit))

    def bases(self, one: str, other: str) -> list[str]:
        return merge_bases(self.git, one, other)

    def merged(self, one: str, other: str) -> str:
        return merged_tree(self.git, one, other)


# ---- trees and files


def at(objects: MemoryObjects | Objects, tree: str, path: bytes) -> Entry | None:
    """The entry at a path below a tree."""
    entry: Entry | None = Entry(TREE, tree)
    for name in path.split(b"/"):
        if entry is None or not entry.is_tree:
            return None
        entry = objects.tree(entry.oid).get(name)
    return entry


def write_files(objects: MemoryObjects | Objects, files: Mapping[str, str | bytes]) -> str:
    """The id of a tree that holds these contents by path."""
    tree: Tree = {}
    folders: dict[str, dict[str, str | bytes]] = {}
    for path, content in files.items():
        name, _, rest = path.partition("/")
        if rest:
            folders.setdefault(name, {})[rest] = content
        else:
            data = content.encode() if isinstance(content, str) else content
            tree[name.encode()] = Entry(FILE, objects.write("blob", data))
    for name, below in folders.items():
        tree[name.encode()] = Entry(TREE, write_files(objects, below))
    return objects.write_tree(tree)


def read_files(objects: MemoryObjects | Objects, tree: str) -> dict[str, str]:
    """The contents by path of a tree's files."""
    return {
        path.decode(): objects.read(entry.oid).decode("utf-8", "replace")
        for path, entry in walk(objects, tree)
        if entry.is_file
    }


def walk(objects: MemoryObjects | Objects, tree: str, prefix: bytes = b"") -> Iterator[tuple[bytes, Entry]]:
    """Every entry below a tree that is no folder, by path."""
    for name, entry in objects.tree(tree).items():
        if entry.is_tree:
            yield from walk(objects, entry.oid, prefix + name + b"/")
        else:
            yield prefix + name, entry
