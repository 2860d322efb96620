"""Keep the repositories quick: many small writes leave loose objects and packs, which are packed together.

Nothing is ever dropped, reachable or not: work.git borrows control.git's objects, and what
an agent wrote may be asked for yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from harness import lock
from harness.git import Git

from ent_agent import repositories, runs, state
from ent_agent.config import Config
from ent_agent.retention import Removal

MOST_LOOSE = 5000
MOST_PACKS = 50
PACK_TIMEOUT_SECONDS = 1800.0
ABANDONED_SECONDS = 86400.0


def pack(config: Config) -> Iterator[Removal]:
    """Pack each repository that needs it, while no agent is at work in it."""
    for git in (repositories.control(config), repositories.work(config)):
        if not git.git_dir.is_dir():
            continue
        loose, packs = loose_objects(git), _packs(git)
        if loose < MOST_LOOSE and packs < MOST_PACKS:
            continue
        with repositories.locked(config):
            if _is_in_use(config):
                said, done = "an agent is at work", False
            else:
                _remove_abandoned(git)
                said, done = _repack(git)
        name = f"{git.git_dir}: {loose} loose objects, {packs} packs"
        yield Removal(kind="objects", name=name, removed=done, reason=said)


def loose_objects(git: Git) -> int:
    """About how many there are: one of the 256 folders is counted, as `git gc --auto` does."""
    folder = git.git_dir / "objects/17"
    return 256 * sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0


def _repack(git: Git) -> tuple[str, bool]:
    """All objects in one pack, unreachable ones too (-k); of work.git only its own (-l)."""
    packed = git.run(
        "repack", "-a", "-d", "-k", "-l", "-q", check=False, timeout_seconds=PACK_TIMEOUT_SECONDS
    )
    if packed.ok:
        git.run("pack-refs", "--all", check=False)
        return "packed together", True
    said = packed.error_text.splitlines()
    return "timed out" if packed.timed_out else (said[-1] if said else f"exit {packed.exit_code}"), False


def _packs(git: Git) -> int:
    return sum(1 for _ in (git.git_dir / "objects/pack").glob("*.pack"))


def _is_in_use(config: Config) -> bool:
    """Whether some run's step is at work; new ones wait for the lock that the caller holds."""
    places = state.of(config)
    return any(
        run.phase != "finalized" and not lock.is_free(places.issue_lock(run.issue))
        for run in runs.every(config)
    )


def _remove_abandoned(git: Git) -> None:
    """Temporary files of a git that was killed."""
    now = time.time()
    for pattern in ("pack/tmp_*", "pack/.tmp-*", "??/tmp_obj_*"):
        for path in (git.git_dir / "objects").glob(pattern):
            if now - path.lstat().st_mtime > ABANDONED_SECONDS:
                path.unlink(missing_ok=True)
