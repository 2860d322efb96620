"""Remove what finished issues left, where it is certain that nothing is lost; say why the rest is kept.

The proof is positive, and made anew under the issue's lock: origin says that the issue is
finished or a person's, no run of it is open, no process is in its worktree, and origin has
every commit and file of it. Only what git ignores goes unproven.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ent_agent import state
from ent_agent.claims import standing
from ent_agent.config import Config
from ent_agent.housekeeping import retention, upkeep
from ent_agent.housekeeping.retention import DAY_SECONDS, Removal, Rules, Verdict
from ent_agent.repositories import repositories
from ent_agent.repositories.repositories import REMOTE
from ent_agent.running import runs
from ent_agent.tracker.reader import Tracker
from ent_agent.worktrees import worktree
from harness import folders, lock
from harness.errors import BadData, Busy
from harness.git import Git
from harness.sweeping import marked
from harness.worktrees import registrations


def prune(config: Config, rules: Rules, *, dry_run: bool = False) -> Iterator[Removal]:
    """Everything that can go, and what is kept; to be called after a sync.

    Raises:
        Busy: another process holds the repository.
    """
    yield from _Worktrees(config, dry_run).prune()
    yield from retention.prune_runs(config, rules, dry_run=dry_run)
    yield from _put_aside(config, rules, dry_run)
    if not dry_run:
        yield from upkeep.pack(config)


@dataclass
class _Worktrees:
    """Worktrees and the local branches of the agent's issues."""

    config: Config
    dry_run: bool
    _leaving: set[Path] = field(default_factory=set)
    """Worktrees that go, or would go."""

    def prune(self) -> Iterator[Removal]:
        places = state.of(self.config)
        if not places.work.is_dir():
            return
        ids = self._ids()
        keys = {path.name for path in _folders(places.worktrees)}
        keys |= {one.path.name for one in registrations.every(state.of(self.config).work)}
        for key in sorted(keys):
            yield self._worktree(key, ids.get(key, ""))
        agents = repositories.work(self.config)
        prefix = f"refs/heads/{self.config.id}/"
        for ref, commit in agents.refs(prefix).items():
            key = ref.removeprefix(prefix)
            yield self._branch(ref, commit, ids.get(key, ""))

    def _worktree(self, key: str, issue: str) -> Removal:
        def end(verdict: Verdict, reason: str) -> Removal:
            path = state.of(self.config).worktrees / key
            return Removal(kind="worktree", name=str(path), verdict=verdict, reason=reason)

        finished, why = self._standing(issue)
        if not finished:
            return end("kept", why)
        try:
            with lock.held(state.of(self.config).issue_lock(issue)):
                if kept := self._in_use(issue) or worktree.why_kept(self.config, issue):
                    return end("kept", kept)
                self._leaving.add(state.of(self.config).worktrees / key)
                if self.dry_run:
                    return end("would_remove", why)
                kept = worktree.release(self.config, issue)
                return end("kept", kept) if kept else end("removed", why)
        except Busy:
            return end("kept", "its issue is being worked")

    def _branch(self, ref: str, commit: str, issue: str) -> Removal:
        def end(verdict: Verdict, reason: str) -> Removal:
            return Removal(kind="branch", name=ref, verdict=verdict, reason=reason)

        finished, why = self._standing(issue)
        if not finished:
            return end("kept", why)
        try:
            with lock.held(state.of(self.config).issue_lock(issue)), repositories.locked(self.config):
                holder = registrations.holders(state.of(self.config).work).get(ref)
                if holder and holder.path not in self._leaving:
                    return end("kept", f"it is checked out at {holder.path}")
                if not _is_on_origin(repositories.control(self.config), commit):
                    return end("kept", "it has commits that origin does not have")
                if self.dry_run:
                    return end("would_remove", why)
                removed = repositories.work(self.config).update_ref(ref, None, commit)
                return end("removed", why) if removed else end("kept", "it moved just now")
        except Busy:
            return end("kept", "its issue is being worked")

    def _ids(self) -> dict[str, str]:
        """`state.key` of every issue that is known here to its id."""
        ids = [run.issue for run in runs.every(self.config)]
        git = repositories.control(self.config)
        if commit := git.resolve(f"{REMOTE}{self.config.issues_branch}"):
            ids += [one.id for one in Tracker(git, commit).summaries()]
        return {state.key(issue): issue for issue in ids}

    def _standing(self, issue: str) -> tuple[bool, str]:
        """Whether the issue is finished or not the agent's, and in which words."""
        if not issue:
            return False, "no issue is known by that name"
        git = repositories.control(self.config)
        commit = git.resolve(f"{REMOTE}{self.config.issues_branch}")
        if commit is None:
            return False, f"origin has no branch {self.config.issues_branch}"
        if why := standing.not_ours(self.config, git, commit, issue):
            return True, f"issue {issue} {why}"
        try:
            found = Tracker(git, commit).issue(issue)
        except BadData as unreadable:
            return False, unreadable.message
        return False, f"issue {issue} is {found.state}, and the agent's"

    def _in_use(self, issue: str) -> str:
        """Which run or process still needs the worktree; "": none."""
        of_issue = [run for run in runs.every(self.config) if run.issue == issue]
        for run in of_issue:
            if run.phase != "finalized":
                return f"run {run.id} was not finished"
        inside = _processes_in(state.of(self.config).worktree(issue))
        inside += [pid for run in of_issue[-1:] for pid in marked(run.id)]
        return f"a process is at work there (pid {inside[0]})" if inside else ""


def _put_aside(config: Config, rules: Rules, dry_run: bool) -> Iterator[Removal]:
    """Refs under refs/ent-agent/kept/ and folders in quarantine: told, and removed only when that is asked for."""
    git = repositories.control(config)
    for ref in git.refs(f"{repositories.NAMESPACE}kept/") if git.git_dir.is_dir() else ():
        verdict, reason = _judged_aside(_age_of_ref(git, ref), rules, dry_run)
        if verdict == "removed":
            with repositories.locked(config):
                git.update_ref(ref, None)
        yield Removal(kind="kept_ref", name=ref, verdict=verdict, reason=reason)
    for folder in _folders(state.of(config).quarantine):
        verdict, reason = _judged_aside(time.time() - folder.lstat().st_ctime, rules, dry_run)
        if verdict == "removed":
            folders.remove(folder)
        yield Removal(kind="quarantine", name=str(folder), verdict=verdict, reason=reason)


def _judged_aside(age_seconds: float, rules: Rules, dry_run: bool) -> tuple[Verdict, str]:
    if rules.kept_days is None or age_seconds <= rules.kept_days * DAY_SECONDS:
        return "kept", "put aside for a person to look through"
    return "would_remove" if dry_run else "removed", "older than --kept-older-than"


def _age_of_ref(git: Git, ref: str) -> float:
    """Seconds since the ref was made: its file says so, else its commit, which cannot be younger."""
    now = time.time()
    loose = git.git_dir / ref
    if loose.is_file():
        return now - loose.stat().st_mtime
    packed = git.git_dir / "packed-refs"
    committed = float(git.text("show", "-s", "--format=%ct", ref))
    return now - max(committed, packed.stat().st_ctime if packed.exists() else 0.0)


def _is_on_origin(git: Git, commit: str) -> bool:
    if git.resolve(f"{commit}^{{commit}}") is None:
        return False
    return not git.text("rev-list", "--max-count=1", commit, "--not", "--remotes=origin")


def _processes_in(folder: Path) -> list[int]:
    """Processes whose current folder is in `folder`."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(folder):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
