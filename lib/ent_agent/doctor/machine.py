"""The state folder: room, what earlier loops left."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from ent_agent import state
from ent_agent.config import Config
from ent_agent.running import runs
from ent_agent.selection import attempts, pausing
from harness import lock
from harness.doctor import machine
from harness.doctor.findings import Finding, ok, warning
from harness.git import Git
from harness.worktrees import registrations

STALE_SECONDS = 3600.0


def folder(config: Config) -> Iterator[Finding]:
    """The state folder can be written, and there is room on its disk."""
    yield from machine.folder(state.of(config).root, "ent-agent-prune --dry-run")


def leavings(config: Config) -> Iterator[Finding]:
    """Runs that were never finished, worktrees and locks that lead nowhere, what was kept aside."""
    places = state.of(config)
    if not places.root.is_dir():
        return
    at = f"--config {shlex.quote(str(config.path))}"
    for run in runs.pending(config):
        yield warning(
            "runs",
            f"run {run.id} of issue {run.issue} was never finished",
            f"ent-agent-finalize --pending {at}",
        )
    yield from _worktrees(config)
    for path in _stale_locks(places):
        yield warning("locks", f"{path} was left by a killed git", f"rm {shlex.quote(str(path))}")
    git = Git(places.control)
    kept = git.refs("refs/ent-agent/kept/") if places.control.is_dir() else {}
    if kept:
        yield warning(
            "kept",
            f"{len(kept)} refs hold work that could not be carried on",
            f"git --git-dir={shlex.quote(str(places.control))} log --oneline --decorate --glob=refs/ent-agent/kept",
        )


def standing(config: Config) -> Iterator[Finding]:
    """Whether anything stands against new work just now."""
    if paused := pausing.current(config):
        yield warning("pause", str(paused), "invoke resume")
        return
    now = time.time()
    agent = attempts.of_agent(config)
    kind, until = attempts.pause(agent, now)
    if kind:
        why = "is out of quota" if kind == "quota" else "needs a login"
        yield warning("pause", f"the agent {why}; it is tried again at {until}")
    elif spent := attempts.spent(agent, now, config):
        yield warning("pause", spent)
    else:
        at_work = not lock.is_free(state.of(config).loop_lock)
        yield ok("loop", "a loop is at work" if at_work else "no loop is at work just now")


def _worktrees(config: Config) -> Iterator[Finding]:
    places = state.of(config)
    for one in registrations.every(state.of(config).work):
        if not one.is_there and one.locked is not None:
            yield warning(
                "worktrees",
                f"{one.path} is not there, and locked: {one.locked}",
                f"rm {shlex.quote(str(one.folder / 'locked'))}",
            )
    known = {one.path for one in registrations.every(state.of(config).work) if one.is_there}
    entries = sorted(places.worktrees.iterdir()) if places.worktrees.is_dir() else []
    for path in entries:
        if path not in known and path.is_dir():
            yield warning(
                "worktrees",
                f"{path} belongs to no worktree: look through it, and remove it",
                f"ls -la {shlex.quote(str(path))}",
            )


def _stale_locks(places: state.StateFolder) -> Iterator[Path]:
    """Lock files of an index that no git holds that long; those of refs are removed by each sync."""
    now = time.time()
    candidates = [*places.work.glob("worktrees/*/index.lock"), *places.control.glob("*.lock")]
    for path in sorted(candidates):
        if now - path.lstat().st_mtime > STALE_SECONDS:
            yield path
