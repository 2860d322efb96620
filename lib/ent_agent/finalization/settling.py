"""Bring a worktree to its branch's end after a run: clean, nothing half-way, ready for the next.

Only files are written, and git runs with control.git as its git dir: what an agent planted
in work.git or in the worktree does not run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ent_agent.config import Config
from ent_agent.records import WorktreeSection
from ent_agent.repositories import repositories
from harness import atomic
from harness.diagnostics import say
from harness.git import Git
from harness.worktrees import registrations
from harness.worktrees.registrations import Registration


def settle(
    config: Config,
    git: Git,
    worktree: WorktreeSection,
    found: Registration,
    tip: str,
    index: Path,
    files: str,
    spare: Path,
) -> bool:
    """Check out `tip` on the branch; False: something stands in the way, and the worktree stays as it is.

    `index` describes the worktree's files as they are, all of them saved, and `files` is its
    tree; `spare` is a place for a repository that stands where the .git file was.
    """
    place = Path(worktree.path)
    if place.is_symlink() or not place.is_dir():
        return False
    env = {"GIT_INDEX_FILE": str(index)}
    if files != git.objects.tree_of(tip):
        words = (f"--work-tree={place}", "read-tree", "-m", "-u", files, tip)
        moved = git.run(*words, cwd=place, env=env, check=False)
        if not moved.ok:
            say(f"{place} stays as it is: {moved.error_text}")
            return False
    with repositories.locked(config):
        name = f"refs/heads/{worktree.branch}"
        work = repositories.work(config)
        if work.resolve(name) != tip:
            work.update_ref(name, tip)
        _point(place, found, spare)
        atomic.write_bytes(found.folder / "HEAD", f"ref: {name}\n".encode(), 0o644)
        atomic.write_bytes(found.folder / "index", index.read_bytes(), 0o644)
        for leaf in (*registrations.HALFWAY, "index.lock", "HEAD.lock", "locked", "AUTO_MERGE", "MERGE_MSG"):
            _remove(found.folder / leaf)
    return True


def _point(place: Path, found: Registration, spare: Path) -> None:
    """Have the worktree's .git file name its registration, whatever stands in its place."""
    link = place / ".git"
    if registrations.back_pointer(place) == found.folder.resolve():
        return
    if os.path.lexists(link):
        _remove(spare)
        link.rename(spare)
        say(f"{link} was replaced in the run; what it was is in {spare}")
    atomic.write_bytes(link, f"gitdir: {found.folder}\n".encode(), 0o644)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
