"""What an agent may leave in its worktree for git to stumble over, moved aside before git looks there.

git opens .gitignore and .gitattributes, and HEAD and refs of a repository inside, whatever
they are: a pipe keeps it waiting for ever, a device or a file of gigabytes takes all memory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from harness import folders
from harness.clock import timestamp
from harness.diagnostics import say

LARGEST_BYTES = 16 << 20
LINE_BYTES = 4096
_LINKS = 6
"""Symbolic refs that git follows one after the other, and one more."""

_READ_WHOLE = frozenset((".gitignore", ".gitattributes", ".gitmodules"))


def clear(worktree: Path, quarantine: Path) -> None:
    """Move each of them to `quarantine`: the file, or the `.git` of a repository inside, as a whole."""
    for path in list(_found(worktree)):
        aside = folders.move_aside(path, quarantine, timestamp())
        say(f"git cannot read {path}, a pipe or the like, or too large; it is moved to {aside}")


def first_line(path: Path) -> str:
    """The first line of a regular file, as far as LINE_BYTES go; "" where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.fsdecode(file.read(LINE_BYTES)).split("\n", 1)[0].strip()


def git_dir(link: Path) -> Path:
    """The repository that a `.git` is, or names."""
    return link if link.is_dir() else link.parent / first_line(link).removeprefix("gitdir: ")


def _found(worktree: Path) -> Iterator[Path]:
    folders = [worktree]
    while folders:
        folder = folders.pop()
        try:
            if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                folder.chmod(stat.S_IRWXU)  # else its files would count as deleted
            entries = list(os.scandir(folder))
        except OSError:  # another user's, or too deep: git passes it over too
            continue
        for entry in entries:
            path = Path(entry.path)
            if entry.name == ".git":
                if folder != worktree and _is_trap(git_dir(path)):
                    yield path
            elif entry.name in _READ_WHOLE:
                if not entry.is_symlink() and _is_odd(path):
                    yield path
            elif entry.is_dir(follow_symlinks=False):
                folders.append(path)


def _is_trap(repository: Path) -> bool:
    """Whether git would get stuck at what it reads to learn the commit of a repository inside."""
    shared = repository / first_line(repository / "commondir")
    name = "HEAD"
    for _ in range(_LINKS):
        names = (name, "commondir", "packed-refs")
        if any(_is_odd(place / part) for place in (repository, shared) for part in names):
            return True
        line = first_line(repository / name) or first_line(shared / name)
        if not line.startswith("ref: "):
            return False
        name = line.removeprefix("ref: ")
    return False


def _is_odd(path: Path) -> bool:
    try:
        about = path.stat()
    except OSError:
        return False
    regular = stat.S_ISREG(about.st_mode)
    return not (regular or stat.S_ISDIR(about.st_mode)) or (regular and about.st_size > LARGEST_BYTES)
