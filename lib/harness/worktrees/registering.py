"""Registrations of worktrees in work.git, written as files (gitrepository-layout(5)).

`git worktree add` would do it under work.git's configuration, and in steps that a kill
leaves half done. So each is made aside and renamed into place.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from harness import atomic
from harness.worktrees.registrations import HALFWAY, Registration

HALFWAY_TOO = (
    "AUTO_MERGE",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "SQUASH_MSG",
    "BISECT_NAMES",
    "BISECT_TERMS",
    "BISECT_START",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "REBASE_HEAD",
)
"""What those leave beside `HALFWAY`."""


def register(work: Path, path: Path, ref: str, name: str) -> Path:
    """Register a worktree at `path` with the branch `ref`; returns its folder, which has no index yet."""
    places = work / "worktrees"
    places.mkdir(exist_ok=True)
    aside = work / f".new-{name}"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for file, line in (("HEAD", f"ref: {ref}"), ("commondir", "../.."), ("gitdir", f"{path}/.git")):
        atomic.write_bytes(aside / file, os.fsencode(line) + b"\n", 0o644)
    for number in range(1000):
        place = places / (name if number == 0 else f"{name}-{number}")
        if not os.path.lexists(place):
            aside.rename(place)
            return place
    raise FileExistsError(f"{places} has a thousand folders called {name}")


def unregister(one: Registration) -> None:
    """Take a registration away, whatever its worktree is."""
    shutil.rmtree(one.folder)


def point_head(one: Registration, ref: str) -> None:
    """Have the worktree on a branch; its files and index are not looked at."""
    if Registration(one.folder).head != ref:  # as it is now
        atomic.write_bytes(one.folder / "HEAD", f"ref: {ref}\n".encode(), 0o644)


def detach(one: Registration, commit: str) -> None:
    """Have the worktree on no branch but at a commit; its files and index are not looked at."""
    atomic.write_bytes(one.folder / "HEAD", f"{commit}\n".encode(), 0o644)


def detach_from_halfway(one: Registration) -> None:
    """Forget a rebase, merge or bisection that was half-way; the branch is where it was before."""
    for name in (*HALFWAY, *HALFWAY_TOO) if one.halfway else ():
        path = one.folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
