"""New objects that can be read before they are stored, all of them by one process."""

from __future__ import annotations

from collections.abc import Mapping

from harness.git import Git
from harness.objects import Entry, Tree, format_tree, parse_tree
from harness.packing import object_id


class Pending:
    """The objects of a repository and those that `store` will add; `like`: any id, for its length."""

    def __init__(self, git: Git, like: str) -> None:
        self._git = git
        self._width = len(like) // 2
        self._new: dict[str, tuple[str, bytes]] = {}

    def read(self, oid: str) -> bytes:
        """The content of an object, stored or not.

        Raises:
            BadData: there is no such object.
        """
        return self._new[oid][1] if oid in self._new else self._git.objects.read(oid)

    def tree(self, oid: str) -> Tree:
        return parse_tree(self.read(oid), self._width)

    def write(self, kind: str, data: bytes) -> str:
        oid = object_id(kind, data, self._width)
        self._new[oid] = (kind, data)
        return oid

    def write_tree(self, tree: Mapping[bytes, Entry]) -> str:
        return self.write("tree", format_tree(tree))

    def store(self) -> None:
        self._git.objects.write_many(list(self._new.values()), self._width)
        self._new.clear()
