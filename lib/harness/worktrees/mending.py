"""Put a repository that agents write to back into a shape that git can read and write, and only there.

A link in place of a folder would take our writes elsewhere; a pipe in place of a ref keeps git
waiting for ever; a folder without permissions, or a broken packed-refs, stops every call.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from harness import folders
from harness.clock import timestamp
from harness.diagnostics import say

FOLDERS = ("objects", "objects/info", "objects/pack", "refs", "refs/heads", "worktrees")
FILES = ("HEAD", "config", "packed-refs", "objects/info/alternates")
LOCKS = ("HEAD.lock", "config.lock", "packed-refs.lock")
REGISTRATION_FILES = ("HEAD", "commondir", "gitdir", "index")
DEEPEST = 200
"""Folders in folders; no ref that git made is as deep."""

_PACKED = re.compile(rb"(?:#[^\n]*\n|\^[0-9a-f]{40}\n|[0-9a-f]{40} refs/[^\n]+\n)*")
_REF = re.compile(rb"(?:[0-9a-f]{40}|ref: ?refs/[^\n]+)\s*")
_REF_BYTES = 4096


def mend(repository: Path, aside: Path) -> None:
    """What is not as it must be goes to the folder `aside`; what is missing is made."""
    _open_up(repository)
    for name in FOLDERS:
        folder = repository / name
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
            _set_aside(folder, aside)
        folder.mkdir(exist_ok=True)
        _open_up(folder)
    for name in (*FILES, *LOCKS):
        file = repository / name
        if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
            _set_aside(file, aside)
    packed = repository / "packed-refs"
    if packed.exists() and not _PACKED.fullmatch(packed.read_bytes()):
        _set_aside(packed, aside)
    for odd in list(_odd_refs(repository / "refs")):
        _set_aside(odd, aside)
    for odd in [*_odd(repository / "objects", 2), *_odd(repository / "worktrees", 1)]:
        _set_aside(odd, aside)
    for registration in (repository / "worktrees").iterdir():
        for name in REGISTRATION_FILES:
            if (registration / name).is_dir():
                _set_aside(registration / name, aside)


def _odd_refs(top: Path) -> Iterator[Path]:
    """What git would not have written below refs, and what lies too deep there."""
    for path, level, kind in _walk(top, DEEPEST):
        if kind == "folder":
            if level == DEEPEST or path.suffix == ".lock":
                yield path
        elif kind == "other" or (path.suffix != ".lock" and not _REF.fullmatch(_beginning(path))):
            yield path


def _odd(top: Path, depth: int) -> Iterator[Path]:
    """What is neither folder nor file, down to `depth`."""
    return (path for path, _, kind in _walk(top, depth) if kind == "other")


def _walk(top: Path, depth: int) -> Iterator[tuple[Path, int, str]]:
    """Paths below a folder, each with its level and "folder", "file" or "other"; folders are opened up."""
    found = [(top, 0)]
    while found:
        folder, level = found.pop()
        _open_up(folder)
        for entry in os.scandir(folder):
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                yield path, level, "folder"
                if level < depth:
                    found.append((path, level + 1))
            else:
                yield path, level, "file" if entry.is_file(follow_symlinks=False) else "other"


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_REF_BYTES)
    except OSError:
        return b""


def _open_up(folder: Path) -> None:
    """Take back our own permissions on a folder."""
    if not folder.is_symlink() and folder.is_dir() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        folder.chmod(folder.stat().st_mode | stat.S_IRWXU)


def _set_aside(path: Path, aside: Path) -> None:
    _open_up(path)
    moved = folders.move_aside(path, aside, timestamp())
    say(f"{path} is not as git makes it; it is moved to {moved}")
