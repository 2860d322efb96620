"""A branch, checked out in a folder of its own.

`prepare` comes to the same end from whatever it finds: nothing, a sound worktree, or what
a kill, an agent or a person left. Nothing is lost on the way: what cannot stay where it is
becomes a ref under `<namespace>kept/` or a folder in quarantine/, and is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness import folders
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import TryLater
from harness.worktrees import branches, clearing, moving, published, registering, registrations
from harness.worktrees.pair import clear_stale_locks
from harness.worktrees.place import Place
from harness.worktrees.registrations import Registration

MOST_LEFT_OVERS = 200
"""Paths that `left_over` names."""


@dataclass(frozen=True)
class Prepared:
    """`start`: the commit that the branch is at; `kept`: refs of what it could not take along."""

    start: str
    kept: tuple[str, ...]
    created: bool
    """The folder was made anew."""


def prepare(place: Place, base: str) -> Prepared:
    """Check out the place's branch in its folder.

    The branch is exactly origin's, with what we have unpublished on top; where origin has
    none it begins at the commit `base`. Idempotent, after kill -9 anywhere too. To be called
    under `pair.locked`, after `pair.set_up`, by the only one that uses this worktree.

    Raises:
        Busy: the branch is checked out in another worktree, or a worktree is locked.
        BadConfig: a branch stands where ours must be.
        TryLater: git failed, or is at work there.
    """
    for stale in clear_stale_locks(place.pair.work):
        say(f"{stale} was left by a killed git; it is removed")
    return _Preparation(place, base).work()


def advance(place: Place, tip: str) -> tuple[str, ...]:
    """Bring a worktree that `prepare` has made to another commit, and its branch with it; uncommitted
    changes move along. Returns refs of what could not. Repeatable after a kill. Under `pair.locked`.

    Raises:
        TryLater: the worktree is not whole, or not on its branch; or git failed.
    """
    registered = place.registration()
    head = place.brought_home(place.ref)
    if registered is None or not registered.is_there or registered.head != place.ref or head is None:
        raise TryLater(f"{place.path} is no worktree on {place.branch} any more", code="not_a_worktree")
    preparation = _Preparation(place, tip)
    is_kept = moving.bring(place, registered, head, tip, preparation.kept)
    if not is_kept:
        moving.check_out(place, tip)
    preparation.set_branch(tip, registered if is_kept else None)
    return tuple(dict.fromkeys(preparation.kept))


def release(place: Place) -> str:
    """Remove the worktree; returns why it is kept, "" when it is gone. Under `pair.locked`.

    It goes only where all of it is on origin: whole, on its branch, a clean tree, no commit
    that origin lacks.
    """
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


def why_kept(place: Place) -> str:
    """Why `release` would keep the worktree; "": it would go."""
    return _why_kept(place, place.registration())


def left_over(place: Place, start: str) -> list[str]:
    """Paths in the worktree that are not as `start` has them."""
    tree = place.space.tree(start)
    changed = place.git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", start, tree).stdout
    names = [name.decode("utf-8", "replace") for name in changed.split(b"\0") if name]
    return [*names, *place.space.untracked()][:MOST_LEFT_OVERS]


@dataclass
class _Preparation:
    place: Place
    base: str
    kept: list[str] = field(default_factory=list)

    def work(self) -> Prepared:
        place, base = self.place, self.base
        self.kept += clearing.free_name(place)
        found = registrations.every(place.pair.work)  # once: there can be hundreds
        clearing.free_branch(place, found)
        registered = clearing.sound_registration(place, found, self.kept)
        local = place.brought_home(place.ref)
        head = self._head(registered, local) if registered else None
        local = self._joined(registered, local, head)
        published.remember(place.git, place.pair.namespace, place.branch)
        once = published.heads(place.git, place.pair.namespace, place.branch)
        begin = branches.beginning(place.git, base=base, remote=place.remote_head, local=local, once=once)
        self.kept += [place.keep(commit) for commit in begin.kept]
        reached("worktree-decided")
        start = begin.start
        is_kept = registered is not None and moving.bring(place, registered, head or start, start, self.kept)
        if not is_kept:
            moving.check_out(place, start)
        self.set_branch(start, registered if is_kept else None)
        if begin.anew:
            published.forget(place.git, place.pair.namespace, place.branch)
        return Prepared(start, tuple(dict.fromkeys(self.kept)), created=not is_kept)

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

    def set_branch(self, start: str, registered: Registration | None) -> None:
        """`registered`: the worktree, where it is still the one that was found; None: it was made anew."""
        place = self.place
        before = place.agents.resolve(place.ref)
        if before != start and not place.agents.update_ref(place.ref, start, before or ""):
            raise TryLater(
                f"{place.ref} of work.git cannot be set; is a git at work there?", code="ref_locked"
            )
        registered = registered or place.registration()
        assert registered
        registering.point_head(registered, place.ref)
        reached("worktree-branch-set")


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
    return "it has uncommitted changes" if there and left_over(place, local) else ""
