"""The worktrees that hang on work.git, read from their files and never through git: an agent can write them.

Layout as in gitrepository-layout(5): `work.git/worktrees/<name>/` has HEAD, `gitdir` (the
path of the worktree's .git file), perhaps `locked` with a reason, and what a rebase, merge
or bisection that is half-way left.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

HALFWAY = (
    "rebase-merge",
    "rebase-apply",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "sequencer",
)
"""What says, in a registration, that git was doing something that takes several steps."""

_HOLDING = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
_LIMIT = 8192  # bytes of a file that are read


@dataclass(frozen=True)
class Registration:
    """One worktree as git sees it. `folder`: its place in work.git."""

    folder: Path

    @cached_property
    def path(self) -> Path:
        """The worktree; it may not be there."""
        return Path(self._place)

    @cached_property
    def head(self) -> str:
        """A full ref name, or the id of a detached commit; "" when it cannot be read."""
        return _line(f"{self.folder}/HEAD").removeprefix("ref: ")

    @cached_property
    def branches(self) -> frozenset[str]:
        """Full names of the branches that git regards as checked out there, a rebase's own too."""
        found = {self.head, *(_line(f"{self.folder}/{name}") for name in _HOLDING)}
        names = (name if name.startswith("refs/") else f"refs/heads/{name}" for name in found if name)
        return frozenset(name for name in names if not re.fullmatch(r"refs/heads/[0-9a-f]{40}", name))

    @cached_property
    def locked(self) -> str | None:
        """Why it is locked (git-worktree(1)); None: it is not."""
        path = self.folder / "locked"
        return (_line(str(path)) or "no reason given") if os.path.lexists(path) else None

    def is_at(self, path: Path) -> bool:
        """Whether it is the one of this path: git may write it without the links on the way there."""
        if self._place.rpartition("/")[2] != path.name:
            return False
        return self._place == str(path) or self.path.parent.resolve() == path.parent.resolve()

    @cached_property
    def _place(self) -> str:
        text = _text(f"{self.folder}/gitdir")
        return os.path.normpath(self.folder / text).rpartition("/")[0]

    @property
    def is_there(self) -> bool:
        """Whether the worktree has a .git file that points back here."""
        return back_pointer(self.path) == self.folder.resolve()

    @property
    def halfway(self) -> list[str]:
        """Names in `HALFWAY` that are there."""
        return [name for name in HALFWAY if os.path.lexists(self.folder / name)]


def every(work: Path) -> list[Registration]:
    """All that are registered, whether their worktrees are there or not."""
    try:
        entries = sorted(os.scandir(work / "worktrees"), key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    return [Registration(Path(entry.path)) for entry in entries if entry.is_dir(follow_symlinks=False)]


def at(path: Path, registered: Sequence[Registration]) -> Registration | None:
    """The one of this folder; where there are several, the one that the folder itself names."""
    found = [one for one in registered if one.is_at(path)]
    return next((one for one in found if one.is_there), found[0] if found else None)


def holders(work: Path) -> dict[str, Registration]:
    """Full branch name to a worktree that holds it and is there, or locked."""
    present = [one for one in every(work) if one.is_there or one.locked is not None]
    return {branch: one for one in present for branch in one.branches}


def back_pointer(worktree: Path) -> Path | None:
    """The registration that a worktree's .git file names; None: it has no such file."""
    link = worktree / ".git"
    if link.is_symlink() or not link.is_file():
        return None
    text = _text(link)
    if not text.startswith("gitdir: "):
        return None
    return (worktree / text.removeprefix("gitdir: ")).resolve()


def _line(path: str) -> str:
    """The first line of a small file; "" when there is none that can be read."""
    return _text(path).split("\n", 1)[0]


def _text(path: str | Path) -> str:
    """A small file without its last line end: a path may have line ends of its own. No link, no pipe.

    Hundreds of worktrees are looked through for each that is prepared, so that each call counts.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.fsdecode(os.read(descriptor, _LIMIT)).removesuffix("\n")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
