"""The branch of an issue, checked out in a folder of its own (harness.worktrees.preparing)."""

from __future__ import annotations

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import Record, WorktreeSection
from ent_agent.repositories import repositories
from ent_agent.repositories.repositories import REMOTE
from ent_agent.selection.selection import branch_name
from harness.errors import BadConfig, TryLater
from harness.worktrees import preparing
from harness.worktrees.place import Place
from harness.worktrees.preparing import Prepared


def prepare(record: Record, config: Config) -> Record:
    """Check out `<agent id>/<issue id>` in its worktree; adds `worktree`. Does not claim the issue.

    The branch is exactly origin's, with what we have unpublished on top; where origin has
    none it begins at the base branch. Idempotent, after kill -9 anywhere too. The caller
    holds the issue's lock.

    Raises:
        Busy: the branch is checked out in another worktree, or a worktree is locked.
        BadConfig: a branch stands where ours must be, or there is no base branch.
        TryLater: git failed, or another process holds the repository.
    """
    assert record.issue and record.repository
    base = config.base_branch or record.repository.default_branch
    with repositories.locked(config):
        repositories.set_up(config)
        place = place_of(config, record.issue.id)
        commit = base_commit(config, place, base)
        record.worktree = _section(place, preparing.prepare(place, commit), base, commit)
    return record


def release(config: Config, issue_id: str) -> str:
    """Remove the worktree of a finished issue; returns why it is kept, "" when it is gone.

    It goes only where all of it is on origin: whole, on its branch, a clean tree, no commit
    that origin lacks. The caller holds the issue's lock.
    """
    with repositories.locked(config):
        return preparing.release(place_of(config, issue_id))


def why_kept(config: Config, issue_id: str) -> str:
    """Why `release` would keep the worktree; "": it would go. The caller holds the issue's lock."""
    with repositories.locked(config):
        return preparing.why_kept(place_of(config, issue_id))


def place_of(config: Config, issue_id: str) -> Place:
    hint = f"rename or delete it, or choose another agent_id than {config.id!r} in config.toml"
    return Place(repositories.pair(config), state.key(issue_id), branch_name(config, issue_id), hint)


def base_commit(config: Config, place: Place, base: str) -> str:
    """Where work without a branch begins.

    Raises:
        BadConfig: `base_branch` is not on origin.
        TryLater: origin has no default branch (yet).
    """
    commit = place.git.resolve(f"{REMOTE}{base}") if base else None
    if commit:
        return commit
    if config.base_branch:
        raise BadConfig(
            f"{config.path}: base_branch: origin has no branch {base!r}",
            hint="name one that origin has, or leave it out for origin's default branch",
        )
    raise TryLater(
        "origin has no default branch to start from",
        hint="push a first commit to it, or name a branch as base_branch in config.toml",
        code="no_base_branch",
    )


def _section(place: Place, prepared: Prepared, base: str, base_commit: str) -> WorktreeSection:
    ahead, behind = place.git.ahead_behind(prepared.start, base_commit)
    return WorktreeSection(
        path=str(place.path),
        branch=place.branch,
        base=base,
        start=prepared.start,
        ahead=ahead,
        behind=behind,
        created=prepared.created,
        remote_head=place.remote_head or "",
        kept=list(prepared.kept),
        left_over=[] if prepared.created else preparing.left_over(place, prepared.start),
    )
