"""The files of a worktree, looked at and changed through control.git and an index of our own.

No configuration, hook, filter or index of an agent's takes part, and no git runs inside
its folders: of a nested repository only the commit is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness import atomic
from harness.git import Git
from harness.process import Finished

CHECKOUT_TIMEOUT_SECONDS = 1800.0


@dataclass(frozen=True)
class Workspace:
    """A worktree's folder. `index`: our own, which only the holder of the issue's lock uses."""

    git: Git
    path: Path
    index: Path

    def fill(self, commit: str) -> None:
        """Write the files of a commit into the folder, which is empty."""
        self.index.parent.mkdir(parents=True, exist_ok=True)
        for path in (self.index, self._lock):
            path.unlink(missing_ok=True)
        self._run("read-tree", "-m", "-u", commit)

    def load(self, head: str) -> None:
        """Our index at `head`; what it knows of unchanged files it keeps, so that they are not read again."""
        self.index.parent.mkdir(parents=True, exist_ok=True)
        self._lock.unlink(missing_ok=True)  # of a killed git of ours: the lock keeps others out
        loaded = self._run("read-tree", "-m", head, check=False)
        if not loaded.ok:
            self.index.unlink(missing_ok=True)
            self._run("read-tree", head)
        self._run("update-index", "-q", "--refresh", check=False)

    def tree(self, head: str) -> str:
        """The tree that `head` would have with every change in the files that it has; untracked ones are left out."""
        self.load(head)
        changed = self._paths("ls-files", "--modified", "--deleted", "-z")
        self._add(dict.fromkeys(changed))
        return self._run("write-tree").text.strip()

    def untracked(self) -> list[str]:
        """Files that are neither in our index nor ignored; a folder that is all new is one entry."""
        return [
            os.fsdecode(path)
            for path in self._paths(
                "ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"
            )
        ]

    def tree_with_obstacles(self, head: str, new: str) -> str:
        """`tree`, and what else stands where `new` will have files; it would be overwritten."""
        self.tree(head)
        added = self.git.run(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", head, new
        ).stdout
        self._add(
            dict.fromkeys(path for name in added.split(b"\0") if name for path in self._obstacles(name))
        )
        return self._run("write-tree").text.strip()

    def move(self, was: str, to: str, index_at: str) -> None:
        """Change the files from tree `was`, which they have, to tree `to`; our index then has `index_at`.

        Raises:
            GitFailed: something stands in the way; nothing was overwritten.
        """
        if was != to:
            self._run("read-tree", "-m", "-u", was, to)
        self._run("read-tree", "-m", index_at)

    def is_sound(self, index: Path) -> bool:
        """Whether git can read an index of the agent's."""
        listed = self.git.run("ls-files", "--stage", check=False, env={"GIT_INDEX_FILE": str(index)})
        return index.is_file() and listed.ok

    # ---- parts

    @property
    def _lock(self) -> Path:
        return self.index.with_name(f"{self.index.name}.lock")

    def _paths(self, *args: str) -> list[bytes]:
        return [path for path in self._run(*args).stdout.split(b"\0") if path]

    def _add(self, paths: Iterable[bytes]) -> None:
        """Take paths into our index as they are now, or out of it."""
        listed = b"".join(path + b"\0" for path in paths)
        if listed:
            self._run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=listed)

    def _obstacles(self, name: bytes) -> list[bytes]:
        """What stands at a path, or at a folder above it: a file there, or all files of a folder."""
        parts = name.split(b"/")
        for length in range(1, len(parts) + 1):
            part = b"/".join(parts[:length])
            place = self.path / os.fsdecode(part)
            if place.is_dir() and not place.is_symlink():
                if length == len(parts):
                    return self._paths("ls-files", "--others", "-z", "--", os.fsdecode(b":(literal)" + part))
            elif os.path.lexists(place):
                return [part]
            else:
                return []
        return []

    def _run(self, *args: str, stdin: bytes = b"", check: bool = True) -> Finished:
        return self.git.run(
            f"--work-tree={self.path}",
            *args,
            stdin=stdin,
            check=check,
            cwd=self.path,
            env={"GIT_INDEX_FILE": str(self.index)},
            timeout_seconds=CHECKOUT_TIMEOUT_SECONDS,
        )


def left_over_commit(git: Git, head: str, tree: str) -> str:
    """A commit of uncommitted changes on `head`; the same changes make the same commit."""
    header = git.objects.read(head)
    when = re.search(rb"^committer .*> (\d+) ", header, re.MULTILINE)
    return git.objects.write_commit(
        tree, [head], "What was left uncommitted in the worktree", timestamp=int(when[1]) if when else 0
    )


def copy_into_place(source: Path, target: Path) -> None:
    """A copy of a file, there whole or not at all; never through a link that stands at `target`."""
    atomic.write_bytes(target, source.read_bytes(), 0o644)
