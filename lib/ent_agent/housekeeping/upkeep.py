"""Keep the repositories quick: many small writes leave loose objects and packs, which are packed together.

Nothing is ever dropped, reachable or not: work.git borrows control.git's objects, and what
an agent wrote may be asked for yet.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from ent_agent import state
from ent_agent.config import Config
from ent_agent.housekeeping.retention import Removal
from ent_agent.repositories import repositories
from ent_agent.running import runs
from harness import lock
from harness.git import Git
from harness.process import Finished

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
                failed = "an agent is at work"
            else:
                _remove_abandoned(git)
                failed = _pack_loose(git) if loose >= MOST_LOOSE else ""
                failed = failed or _join_packs(git)
        name = f"{git.git_dir}: {loose} loose objects, {packs} packs"
        yield Removal(
            kind="objects",
            name=name,
            verdict="not_packed" if failed else "packed",
            reason=failed or "packed together",
        )


def loose_objects(git: Git) -> int:
    """About how many there are: one of the 256 folders is counted, as `git gc --auto` does."""
    folder = git.git_dir / "objects/17"
    return 256 * sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0


def _pack_loose(git: Git) -> str:
    """One more pack, of all loose objects, reachable or not; returns why not, "" when it is done."""
    names = "".join(f"{path.parent.name}{path.name}\n" for path in _loose(git))
    base = (git.git_dir / "objects/pack/pack").resolve()
    packed = git.run(
        "pack-objects",
        "-q",
        "--non-empty",
        base,
        stdin=names.encode(),
        check=False,
        timeout_seconds=PACK_TIMEOUT_SECONDS,
    )
    return _why(packed) or _why(git.run("prune-packed", "--quiet", check=False))


def _join_packs(git: Git) -> str:
    """Fewer packs, and all refs in one file.

    In control.git the large packs stay as they are. work.git is small, and git before 2.41
    cannot tell its packs from the borrowed ones that way: it gets one pack of all its own (-k:
    unreachable objects too).
    """
    borrows = (git.git_dir / "objects/info/alternates").exists()
    how = ("-a", "-k", "-l") if borrows else ("--geometric=2",)
    joined = git.run("repack", "-d", "-q", *how, check=False, timeout_seconds=PACK_TIMEOUT_SECONDS)
    return _why(joined) or _why(git.run("pack-refs", "--all", check=False))


def _why(finished: Finished) -> str:
    if finished.ok:
        return ""
    said = finished.error_text.splitlines()
    return "timed out" if finished.timed_out else (said[-1] if said else f"exit {finished.exit_code}")


def _loose(git: Git) -> Iterator[Path]:
    return (
        path for path in (git.git_dir / "objects").glob("??/*") if re.fullmatch(r"[0-9a-f]{38,}", path.name)
    )


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
