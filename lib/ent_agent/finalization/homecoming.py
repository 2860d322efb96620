"""What a run's agent committed, fetched into control.git, and where its branch is to go on.

An agent may leave HEAD elsewhere, its branch reset or rewritten, or a rebase half-way.
What was published is never rewritten, and nothing is lost: what the branch cannot take is
kept under `refs/ent-agent/kept/<run id>/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import WorktreeSection
from ent_agent.repositories import repositories
from ent_agent.running.runs import Run
from harness.diagnostics import say
from harness.git import Git, GitFailed
from harness.worktrees import registrations
from harness.worktrees.place import DAMAGED
from harness.worktrees.registrations import Registration


@dataclass(frozen=True)
class Situation:
    """Commits in control.git. `floor`: what the branch must contain, since origin has it."""

    floor: str
    start: str
    branch: str | None
    """The branch as the agent left it; None: deleted."""
    head: str | None
    """What is checked out."""
    on_branch: bool
    """HEAD names the branch."""
    halfway: tuple[str, ...] = ()
    """Rebase, merge or the like, begun and not ended."""


@dataclass(frozen=True)
class Decision:
    """`tip`: where the branch goes on; `joined`: a rewritten branch whose content is put on top of `tip`;
    `kept`: what is kept aside, by name."""

    tip: str
    joined: str | None
    kept: dict[str, str]
    why: str = ""


@dataclass(frozen=True)
class Homecoming:
    """What came home. `tip`: the branch; `head`: what the worktree's files stem from."""

    tip: str
    head: str
    kept: dict[str, str]
    why: str
    registration: Registration | None
    halfway: tuple[str, ...]


def bring(config: Config, git: Git, run: Run, worktree: WorktreeSection, timestamp: int) -> Homecoming:
    """Fetch what the agent committed, decide, and keep what is to be kept. Repeatable.

    Raises:
        GitFailed: git refuses the agent's objects.
    """
    found = _registration(config, Path(worktree.path))
    situation = _situation(config, git, run, worktree, found)
    decision = decide(git, situation)
    tip = decision.tip
    if decision.joined:
        tree = git.objects.tree_of(decision.joined)
        message = f"Go on from a rewritten history\n\nIssue: {run.issue}"
        parents = [tip, decision.joined]
        tip = git.objects.write_commit(tree, parents, message, timestamp=timestamp, sign=config.sign_commits)
    keep(config, git, run, decision.kept)
    head = tip if decision.joined and situation.head == decision.joined else situation.head
    return Homecoming(
        tip=tip,
        head=head or tip,
        kept=decision.kept,
        why=decision.why,
        registration=found,
        halfway=situation.halfway,
    )


def keep(config: Config, git: Git, run: Run, commits: dict[str, str]) -> None:
    """Hold commits by refs of the run, name to commit."""
    with repositories.locked(config):
        git.update_refs((run.kept_ref(name), oid) for name, oid in commits.items())


def decide(git: Git, situation: Situation) -> Decision:
    """Where the branch goes on, from what it and HEAD are at."""
    branch, head, floor = situation.branch, situation.head, situation.floor
    kept: dict[str, str] = {}
    why = ""
    joined = None
    if situation.halfway:
        why = "a rebase, merge or the like was half-way; it is kept aside and aborted"
        tip = branch if branch and git.is_ancestor(floor, branch) else situation.start
    elif head and not situation.on_branch and _goes_on(git, head, situation):
        tip = head
    elif branch and git.is_ancestor(floor, branch):
        tip = branch
    else:
        tip = situation.start
        why = "the branch was reset, deleted, or holds what git refuses; it goes on where it was"
        if branch and _is_rewritten(git, branch, floor):
            why = "what origin has of the branch was rewritten; the new content is put on top of it"
            joined = branch
    for name, commit in (("branch", branch), ("head", head)):
        if commit and commit not in (joined, tip) and not _is_known(git, commit, tip):
            kept[name] = commit
    if head in kept.values() and not situation.halfway and not why:
        why = "HEAD was elsewhere"
    if joined:
        kept["branch"] = joined
    return Decision(tip=tip, joined=joined, kept=kept, why=why)


def _goes_on(git: Git, head: str, situation: Situation) -> bool:
    """Whether HEAD contains what the branch has, or all that it must have where the branch is gone."""
    branch = situation.branch
    if branch and git.is_ancestor(situation.floor, branch):
        return git.is_ancestor(branch, head)
    return git.is_ancestor(situation.floor, head) and git.is_ancestor(situation.start, head)


def _is_rewritten(git: Git, branch: str, floor: str) -> bool:
    """Whether the branch has commits of its own, from somewhere below the floor on."""
    if git.is_ancestor(branch, floor):
        return False
    return git.run("merge-base", branch, floor, check=False).ok


def _is_known(git: Git, commit: str, tip: str) -> bool:
    """Whether the branch, or any of origin's, contains the commit."""
    return not git.text("rev-list", "--max-count=1", commit, "--not", tip, "--remotes=origin")


def _situation(
    config: Config, git: Git, run: Run, worktree: WorktreeSection, found: Registration | None
) -> Situation:
    name = f"refs/heads/{worktree.branch}"
    head = found.head if found else name
    is_commit = re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", head)
    return Situation(
        floor=worktree.remote_head or worktree.start,
        start=worktree.start,
        branch=_fetched(config, git, run, "branch", name),
        head=_fetched(config, git, run, "head", head if is_commit or head.startswith("refs/") else name),
        on_branch=head == name,
        halfway=tuple(found.halfway) if found else (),
    )


def _fetched(config: Config, git: Git, run: Run, what: str, name: str) -> str | None:
    """A commit of work.git by ref name or id, now in control.git; None: there is no such commit."""
    work = repositories.work(config)
    commit = work.resolve(f"{name}^{{commit}}")
    if commit is None:
        return None
    if git.resolve(f"{commit}^{{commit}}"):
        return commit
    with repositories.locked(config):
        try:
            repositories.bring_home(config, f"+{commit}:{run.agents_ref(what)}")
        except GitFailed as failed:
            if not re.search(DAMAGED, failed.finished.error_text):
                raise
            say(f"{name} of issue {run.issue} is not taken: {failed.message}")
            work.update_ref(run.kept_ref(what), commit)
            return None
    return commit


def _registration(config: Config, worktree: Path) -> Registration | None:
    """The worktree as work.git has it registered; None: the agent took that away."""
    return next((one for one in registrations.every(state.of(config).work) if one.is_at(worktree)), None)
