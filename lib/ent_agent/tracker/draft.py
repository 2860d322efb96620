"""The tree of a commit with changes that are not written yet: only the folders on the way are touched."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import BadData
from harness.git import Git
from harness.objects import FILE, TREE, Entry, format_tree, parse_tree
from harness.packing import object_id

Path = tuple[bytes, ...]
MAX_NAME_BYTES = 255


class Draft:
    """A tree being changed. Nothing is stored before `write`."""

    def __init__(self, git: Git, tree: str) -> None:
        self._git = git
        self._width = len(tree) // 2
        self._root = _Folder(tree)
        self._blobs: dict[str, bytes] = {}

    def entry(self, *path: bytes) -> Entry | None:
        """What is at a path; for a changed folder the id is that of before, or ""."""
        folder = self._folder(path[:-1])
        found = self._entries(folder).get(path[-1]) if folder else None
        return Entry(TREE, found.tree) if isinstance(found, _Folder) else found

    def names(self, *path: bytes) -> list[bytes]:
        """The names in a folder; none when there is no such folder."""
        folder = self._folder(path)
        return list(self._entries(folder)) if folder else []

    def read(self, *path: bytes) -> bytes | None:
        """The content of a regular file; None when there is none."""
        entry = self.entry(*path)
        if entry is None or not entry.is_file:
            return None
        return self._blobs[entry.oid] if entry.oid in self._blobs else self._git.objects.read(entry.oid)

    def put(self, path: Path, data: bytes) -> None:
        """Set a file (mode 100644); what else has its name is replaced.

        Raises:
            BadData: a file is where a folder must be, or git cannot hold the name.
        """
        for name in path:
            check_name(name)
        folder = self._root
        for depth, name in enumerate(path[:-1], 1):
            folder = self._enter(folder, name, path[:depth])
        oid = object_id("blob", data, self._width)
        self._blobs[oid] = data
        self._entries(folder)[path[-1]] = Entry(FILE, oid)

    def remove(self, *path: bytes) -> None:
        """Take a file or a whole folder away, if it is there."""
        folder = self._folder(path[:-1])
        if folder:
            self._entries(folder).pop(path[-1], None)

    def write(self) -> str:
        """Store all that is new, and return the id of the tree."""
        staged: dict[str, tuple[str, bytes]] = {}
        tree = self._stage(self._root, staged)
        self._git.objects.write_many(list(staged.values()), self._width)
        self._blobs.clear()
        return tree

    # ---- folders

    def _folder(self, path: Path) -> _Folder | None:
        """The folder at `path` as a node, opened on the way; None when there is none."""
        folder = self._root
        for name in path:
            found = self._entries(folder).get(name)
            if isinstance(found, Entry):
                if not found.is_tree:
                    return None
                found = self._entries(folder)[name] = _Folder(found.oid)
            if found is None:
                return None
            folder = found
        return folder

    def _enter(self, folder: _Folder, name: bytes, path: Path) -> _Folder:
        entries = self._entries(folder)
        found = entries.get(name)
        if isinstance(found, Entry) and not found.is_tree:
            raise BadData(f"{b'/'.join(path).decode('utf-8', 'replace')}: is not a folder")
        if not isinstance(found, _Folder):
            found = entries[name] = _Folder(found.oid if found else "")
        return found

    def _entries(self, folder: _Folder) -> dict[bytes, Entry | _Folder]:
        if folder.entries is None:
            data = self._git.objects.read(folder.tree) if folder.tree else b""
            folder.entries = dict(parse_tree(data, self._width))
        return folder.entries

    def _stage(self, folder: _Folder, staged: dict[str, tuple[str, bytes]]) -> str:
        """The tree id of a folder ("" for an empty one); what is new goes to `staged`."""
        if folder.entries is None:
            return folder.tree
        entries = dict(self._settled(folder, staged))
        if not entries and folder is not self._root:
            return ""
        data = format_tree(entries)
        tree = object_id("tree", data, self._width)
        if tree != folder.tree:
            staged[tree] = ("tree", data)
            folder.tree = tree
        return tree

    def _settled(
        self, folder: _Folder, staged: dict[str, tuple[str, bytes]]
    ) -> Iterator[tuple[bytes, Entry]]:
        for name, entry in (folder.entries or {}).items():
            if isinstance(entry, _Folder):
                tree = self._stage(entry, staged)
                if tree:
                    yield name, Entry(TREE, tree)
            else:
                if entry.oid in self._blobs:
                    staged[entry.oid] = ("blob", self._blobs[entry.oid])
                yield name, entry


class _Folder:
    """A folder on the way to a change. `tree`: its id when last stored; `entries` None: not opened yet."""

    def __init__(self, tree: str) -> None:
        self.tree = tree
        self.entries: dict[bytes, Entry | _Folder] | None = None


def check_name(name: bytes) -> None:
    """See that git and a file system can hold a name.

    Raises:
        BadData: they cannot; says why, as the system would.
    """
    if name in (b".", b".."):
        raise BadData("Is a directory (os error 21)")
    if not name or b"/" in name or b"\0" in name or name.lower() in (b".git", b"git~1"):
        raise BadData(f"{name.decode('utf-8', 'replace')!r} cannot be a file name")
    if len(name) > MAX_NAME_BYTES:
        raise BadData("File name too long (os error 36)")
