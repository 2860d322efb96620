"""One place in three trees (base, ours, theirs), and what settles itself: equal, or changed on one side only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from harness.objects import GITLINK, TREE, Entry, Tree

MAX_DEPTH = 40  # folders below this many others are one value; a hostile tree may nest without end
MAX_NAME_BYTES = 255


class Store(Protocol):
    """Where objects are read and written: `harness.objects.Objects`, or a test's own."""

    def read(self, oid: str) -> bytes: ...

    def tree(self, oid: str) -> Tree: ...

    def write(self, kind: str, data: bytes) -> str: ...

    def write_tree(self, tree: Mapping[bytes, Entry]) -> str: ...


class Cell(NamedTuple):
    """The entries at one path; None: not there."""

    path: bytes
    base: Entry | None
    ours: Entry | None
    theirs: Entry | None

    @property
    def name(self) -> bytes:
        return self.path.rpartition(b"/")[2]

    @property
    def is_conflict(self) -> bool:
        """Whether both sides changed it, differently."""
        return self.ours != self.theirs and self.base not in (self.ours, self.theirs)

    @property
    def settled(self) -> Entry | None:
        """What stands where there is no conflict."""
        return self.theirs if self.ours == self.base else self.ours

    @property
    def is_folder(self) -> bool:
        """Whether both sides have a folder here that can be merged entry by entry."""
        return bool(
            self.ours
            and self.ours.is_tree
            and self.theirs
            and self.theirs.is_tree
            and self.path.count(b"/") < MAX_DEPTH
        )

    @property
    def is_set(self) -> bool:
        """As `is_folder`, where a missing folder stands for an empty one."""
        sides = [entry for entry in (self.ours, self.theirs) if entry is not None]
        return all(entry.is_tree for entry in sides)


Rule = Callable[[Cell, Tree], Entry | None]
"""Decides a conflict; what it keeps beside the winner it puts into the tree, by name."""


def children(store: Store, cell: Cell) -> Iterator[Cell]:
    """The cells of all names that either side has below `cell`, in the order of bytes."""
    base, ours, theirs = (
        store.tree(entry.oid) if entry and entry.is_tree else {}
        for entry in (cell.base, cell.ours, cell.theirs)
    )
    prefix = cell.path + b"/" if cell.path else b""
    for name in sorted(ours.keys() | theirs.keys()):
        yield Cell(prefix + name, base.get(name), ours.get(name), theirs.get(name))


def merge_entries(store: Store, cell: Cell, rule: Rule) -> Tree:
    """The merged entries of a folder: settled ones as they are, conflicts by `rule`."""
    merged: Tree = {}
    beside: Tree = {}
    for child in children(store, cell):
        entry = rule(child, beside) if child.is_conflict else child.settled
        if entry is not None:
            merged[child.name] = entry
    for name, entry in beside.items():
        place(merged, name, entry)
    return merged


def write_folder(store: Store, tree: Tree) -> Entry | None:
    """The folder as an entry; None when it is empty, which git cannot hold."""
    return Entry(TREE, store.write_tree(tree)) if tree else None


def place(tree: Tree, name: bytes, entry: Entry) -> None:
    """Put what lost its name into `tree` as NAME.<first 8 of its id>; all 40 where that is taken."""
    for digits in (8, 40):
        ending = b"." + entry.oid[:digits].encode()
        new_name = name[: MAX_NAME_BYTES - len(ending)] + ending
        if tree.get(new_name, entry) == entry:
            tree[new_name] = entry
            return


def folder_first(cell: Cell, beside: Tree) -> Entry | None:
    """File against folder: the folder; the file goes beside it."""
    assert cell.ours and cell.theirs
    folder, other = (cell.ours, cell.theirs) if cell.ours.is_tree else (cell.theirs, cell.ours)
    if other.mode != GITLINK:
        beside[cell.name] = other
    return folder
