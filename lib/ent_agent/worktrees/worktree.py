"""The branch of an issue, checked out in a folder of its own.

`prepare` comes to the same end from whatever it finds: nothing, a sound worktree, or what
a kill, an agent or a person left. Nothing is lost on the way: what cannot stay where it is
becomes a ref under refs/ent-agent/kept/ or a folder in quarantine/, and is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import Record, WorktreeSection
from ent_agent.repositories import published, repositories
from ent_agent.repositories.repositories import REMOTE
from ent_agent.worktrees import branches, clearing, moving, registering
from ent_agent.worktrees.place import Place
from ent_agent.worktrees.registrations import Registration
from harness import folders
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import BadConfig, TryLater

MOST_LEFT_OVERS = 200
"""Paths that a record names."""


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
        for stale in repositories.clear_stale_locks(state.of(config).work):
            say(f"{stale} was left by a killed git; it is removed")
        record.worktree = _Preparation(Place(config, record.issue.id), base).work()
    return record


def release(config: Config, issue_id: str) -> str:
    """Remove the worktree of a finished issue; returns why it is kept, "" when it is gone.

    It goes only where all of it is on origin: whole, on its branch, a clean tree, no commit
    that origin lacks. The caller holds the issue's lock.
    """
    with repositories.locked(config):
        place = Place(config, issue_id)
        gone = place.path.with_name(f".gone-{place.path.name}")
        folders.remove(gone)
        registered = place.registration()
        if why := _why_kept(place, registered):
            return why
        if registered is None:
            return ""
        if place.path.exists():
            place.path.rename(gone)
        reached("worktree-set-aside")
        registering.unregister(registered)
        folders.remove(gone)
        place.space.index.unlink(missing_ok=True)
        return ""


def why_kept(config: Config, issue_id: str) -> str:
    """Why `release` would keep the worktree; "": it would go. The caller holds the issue's lock."""
    with repositories.locked(config):
        place = Place(config, issue_id)
        return _why_kept(place, place.registration())


def base_commit(place: Place, base: str) -> str:
    """Where work without a branch begins.

    Raises:
        BadConfig: `base_branch` is not on origin.
        TryLater: origin has no default branch (yet).
    """
    commit = place.git.resolve(f"{REMOTE}{base}") if base else None
    if commit:
        return commit
    if place.config.base_branch:
        raise BadConfig(
            f"{place.config.path}: base_branch: origin has no branch {base!r}",
            hint="name one that origin has, or leave it out for origin's default branch",
        )
    raise TryLater(
        "origin has no default branch to start from",
        hint="push a first commit to it, or name a branch as base_branch in config.toml",
        code="no_base_branch",
    )


@dataclass
class _Preparation:
    place: Place
    base: str
    kept: list[str] = field(default_factory=list)

    def work(self) -> WorktreeSection:
        place = self.place
        base = base_commit(place, self.base)
        self.kept += clearing.free_name(place)
        clearing.free_branch(place)
        registered = clearing.sound_registration(place, self.kept)
        local = place.brought_home(place.ref)
        head = self._head(registered, local) if registered else None
        local = self._joined(registered, local, head)
        published.remember(place.git, place.config)
        begin = branches.beginning(
            place.git, branch=place.branch, base=base, remote=place.remote_head, local=local
        )
        self.kept += [place.keep(commit) for commit in begin.kept]
        reached("worktree-decided")
        start = begin.start
        is_kept = registered is not None and moving.bring(place, registered, head or start, start, self.kept)
        if not is_kept:
            moving.check_out(place, start)
        self._set_branch(start)
        if begin.anew:
            published.forget(place.git, place.branch)
        return self._section(start, base, created=not is_kept)

    # ---- where HEAD is

    def _head(self, registered: Registration, local: str | None) -> str | None:
        """The commit that the worktree's files stem from."""
        name = registered.head
        return local if not name or name == self.place.ref else self.place.brought_home(name) or local

    def _joined(self, registered: Registration | None, local: str | None, head: str | None) -> str | None:
        """The branch, with HEAD's commits where HEAD goes on from it; else those are kept."""
        if registered is None or head is None or head == local:
            return local
        if local and not registered.halfway and self.place.git.is_ancestor(local, head):
            return head
        if not self.place.is_reachable(head, local):
            self.kept.append(self.place.keep(head))
        return local

    def _set_branch(self, start: str) -> None:
        place = self.place
        before = place.agents.resolve(place.ref)
        if before != start and not place.agents.update_ref(place.ref, start, before or ""):
            raise TryLater(
                f"{place.ref} of work.git cannot be set; is a git at work there?", code="ref_locked"
            )
        registered = place.registration()
        assert registered
        registering.point_head(registered, place.ref)
        reached("worktree-branch-set")

    # ---- the section

    def _section(self, start: str, base: str, *, created: bool) -> WorktreeSection:
        place = self.place
        ahead, behind = place.git.ahead_behind(start, base)
        return WorktreeSection(
            path=str(place.path),
            branch=place.branch,
            base=self.base,
            start=start,
            ahead=ahead,
            behind=behind,
            created=created,
            remote_head=place.remote_head or "",
            kept=list(dict.fromkeys(self.kept)),
            left_over=[] if created else _left_over(place, start),
        )


def _left_over(place: Place, start: str) -> list[str]:
    """Paths in the worktree that are not as `start` has them."""
    tree = place.space.tree(start)
    changed = place.git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", start, tree).stdout
    names = [name.decode("utf-8", "replace") for name in changed.split(b"\0") if name]
    return [*names, *place.space.untracked()][:MOST_LEFT_OVERS]


def _why_kept(place: Place, registered: Registration | None) -> str:
    if registered is None:
        return f"{place.path} is no worktree" if place.path.exists() else ""
    if registered.locked is not None:
        return f"it is locked: {registered.locked}"
    there = place.path.exists()
    if there and not registered.is_there:
        return "it is not whole"
    if registered.head != place.ref or registered.halfway:
        return "it is not on its branch, or half-way in a rebase or merge"
    local = place.brought_home(place.ref)
    if local is None:
        return "its branch is gone"
    if place.git.text("rev-list", "--max-count=1", local, "--not", "--remotes=origin"):
        return "it has commits that origin does not have"
    return "it has uncommitted changes" if there and _left_over(place, local) else ""
