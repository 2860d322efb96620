"""Folders that go with all that is in them, whatever an agent did to their permissions."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path


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


def _open_up(path: Path) -> None:
    """Take back the permissions that deleting needs, from the outside in."""
    pending = [path]
    while pending:
        folder = pending.pop()
        folder.chmod(folder.lstat().st_mode | stat.S_IRWXU)
        pending += [entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink()]
