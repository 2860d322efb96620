"""Folders that go with all that is in them, and what is moved out of the way, whatever an agent did to them."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

from harness import process

REMOVAL_SECONDS = 600.0


def remove(path: Path) -> None:
    """Delete a folder whole; a symbolic link goes alone, and nothing there is fine."""
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        try:
            shutil.rmtree(path)
        except PermissionError:
            _open_up(path)
            shutil.rmtree(path)
        except RecursionError:  # thousands of folders in folders
            process.run(["chmod", "-R", "u+rwx", path], timeout_seconds=REMOVAL_SECONDS)
            process.run(["rm", "-rf", path], timeout_seconds=REMOVAL_SECONDS)


def move_aside(path: Path, quarantine: Path, stamp: str) -> Path:
    """Move what stands at `path` to a free name in `quarantine`; nothing in it is touched."""
    quarantine.mkdir(parents=True, exist_ok=True)
    for number in range(1000):
        name = f"{path.name}-{stamp}" + (f"-{number}" if number else "")
        place = quarantine / re.sub(r"[:+]", "", name)
        if not os.path.lexists(place):
            path.rename(place)
            return place
    raise FileExistsError(f"{quarantine} has a thousand folders of {path.name}")


def _open_up(path: Path) -> None:
    """Take back the permissions that deleting needs, from the outside in."""
    pending = [path]
    while pending:
        folder = pending.pop()
        folder.chmod(folder.lstat().st_mode | stat.S_IRWXU)
        pending += [entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink()]
