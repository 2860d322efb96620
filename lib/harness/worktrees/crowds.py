"""Folders with more new files than anybody meant to commit: an install or a build without a .gitignore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

ROOT = b"."


def crowded(paths: Collection[bytes], limit: int) -> dict[bytes, int]:
    """The folders to leave out, each with the number of its files, so that at most `limit` paths are left.

    The deepest ones that are too many by themselves; where no folder is, all of it (`ROOT`).
    """
    counts: Counter[bytes] = Counter()
    inside: dict[bytes, set[bytes]] = {}
    for path in paths if len(paths) > limit else ():
        below = b""
        for folder in (*_folders(path), ROOT):
            counts[folder] += 1
            if below:
                inside.setdefault(folder, set()).add(below)
            below = folder
    found: dict[bytes, int] = {}
    while counts[ROOT] > limit:
        folder = ROOT
        while deeper := [one for one in inside.get(folder, ()) if counts[one] > limit]:
            folder = max(deeper, key=lambda one: (counts[one], one))
        found[folder] = counts[folder]
        gone = counts[folder]
        for one in (folder, *_folders(folder), *([ROOT] if folder != ROOT else [])):
            counts[one] -= gone
    return found


def without(paths: Iterable[bytes], folders: Collection[bytes]) -> Iterator[bytes]:
    """The paths that are in none of the folders."""
    return (path for path in paths if not is_inside(path, folders))


def is_inside(path: bytes, folders: Collection[bytes]) -> bool:
    """Whether a path is below one of the folders."""
    return bool(folders) and (ROOT in folders or any(folder in folders for folder in _folders(path)))


def _folders(path: bytes) -> Iterator[bytes]:
    """The folders that a path is in, the innermost first."""
    while b"/" in path.rstrip(b"/"):
        path = path.rstrip(b"/").rpartition(b"/")[0]
        yield path
