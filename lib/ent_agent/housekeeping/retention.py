"""Which runs are kept, and how the others go: their folders, and their private lines of the tracker."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from ent_agent import state
from ent_agent.config import Config
from ent_agent.repositories import repositories
from ent_agent.running import runs
from ent_agent.running.runs import Run
from harness import folders, lock
from harness.errors import Busy
from harness.git import Git

DAY_SECONDS = 86400.0
RUN_REFS = ("refs/ent-agent/runs/", "refs/ent-agent/agents/")
GONE = ".gone-"


Verdict = Literal["removed", "would_remove", "kept", "packed", "not_packed"]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run that one of these keeps stays: the newest `keep_runs`, those of the last `keep_days`,
    and the newest of each issue. `kept_days`: what was put aside goes after that long; None: never."""

    keep_runs: int = 100
    keep_days: float = 30.0
    kept_days: float | None = None


class Removal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was looked at. `reason`: why it is kept, or why it may go."""

    kind: Literal["worktree", "branch", "run", "run_ref", "kept_ref", "quarantine", "objects"]
    name: str
    verdict: Verdict
    reason: str


LOOP_RULES = Rules(keep_runs=500, keep_days=0.0)
"""What the loop itself keeps, so that a busy one does not fill the disk."""


def prune_runs(config: Config, rules: Rules, *, dry_run: bool = False) -> Iterator[Removal]:
    """Remove the finished runs that no rule keeps, and the private lines of all finished ones."""
    found = runs.every(config)
    places = state.of(config)
    finished = [run for run in found if run.phase == "finalized"]
    yield from _refs(config, finished, dry_run)
    for run in superfluous(found, rules, time.time()):
        try:
            with lock.held(places.issue_lock(run.issue)):
                if not dry_run:
                    _remove(places.run(run.id))
        except Busy:
            yield Removal(kind="run", name=run.id, verdict="kept", reason="its issue is being worked")
            continue
        verdict: Verdict = "would_remove" if dry_run else "removed"
        yield Removal(kind="run", name=run.id, verdict=verdict, reason=f"finished, begun {run.created_at}")
    if not dry_run:
        for left in places.runs.glob(f"{GONE}*"):
            folders.remove(left)


def superfluous(found: Iterable[Run], rules: Rules, now: float) -> list[Run]:
    """The finished runs that no rule keeps; `found`: all runs, oldest first."""
    all_runs = list(found)
    newest_of_issue = {run.issue: run.id for run in all_runs}
    finished = [run for run in all_runs if run.phase == "finalized"]
    beyond = finished[: max(len(finished) - rules.keep_runs, 0)]
    return [
        run
        for run in beyond
        if newest_of_issue[run.issue] != run.id and now - _began(run) > rules.keep_days * DAY_SECONDS
    ]


def _refs(config: Config, finished: list[Run], dry_run: bool) -> Iterator[Removal]:
    """The private lines: what was worth it is on origin since the run was finished, or waits for a person."""
    for git in (repositories.control(config), repositories.work(config)):
        if not git.git_dir.is_dir():
            continue
        there = git.refs(*RUN_REFS)
        theirs = {
            name: there[name]
            for run in finished
            if not run.withheld
            for name in there
            if name == run.line_ref or name.startswith(run.agents_ref(""))
        }
        gone = set() if dry_run else _delete(config, git, theirs)
        for name in theirs:
            verdict: Verdict = "would_remove" if dry_run else "removed" if name in gone else "kept"
            reason = f"its run is finished; in {git.git_dir.name}"
            yield Removal(kind="run_ref", name=name, verdict=verdict, reason=reason)


def _delete(config: Config, git: Git, refs: dict[str, str]) -> set[str]:
    """Delete refs that are still where they were, all at once or, where one is not, one by one; those that went."""
    if not refs:
        return set()
    script = "".join(f"delete {name} {oid}\n" for name, oid in refs.items())
    with repositories.locked(config):
        if git.run("update-ref", "--stdin", stdin=script.encode(), check=False).ok:
            return set(refs)
        return {name for name, oid in refs.items() if git.update_ref(name, None, oid)}


def _remove(folder: Path) -> None:
    """First out of sight, so that a kill does not leave half a run."""
    gone = folder.with_name(f"{GONE}{folder.name}")
    folders.remove(gone)
    folder.rename(gone)
    folders.remove(gone)


def _began(run: Run) -> float:
    """Seconds since the epoch; a run that does not say when is an old one."""
    try:
        return datetime.fromisoformat(run.created_at).timestamp()
    except ValueError:
        return 0.0
