"""Before a branch is checked out: what must not stand where its branch, folder and registration are to be.

Each kind of remainder has its end: what is gone is unregistered, what is somebody's own is
left alone and told, and what is neither is moved aside or kept. Nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness import folders
from harness.clock import timestamp
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import BadConfig, Busy
from harness.worktrees import registering, registrations
from harness.worktrees.pair import REMOTE
from harness.worktrees.place import Place
from harness.worktrees.registrations import Registration


def free_name(place: Place) -> list[str]:
    """See that the branch can have its name, since no branch can be a folder of another.

    Returns the refs that keep what an agent had put there in work.git.

    Raises:
        BadConfig: origin has such a branch, or a worktree does.
    """
    above, below = _folders(place.branch), f"{place.branch}/"
    for tracking in (*(f"{REMOTE}{name}" for name in above), *place.git.refs(f"{REMOTE}{below}")):
        if place.git.resolve(tracking):
            raise _in_the_way(place, tracking.removeprefix(REMOTE), "origin")
    kept = []
    for ref in (*(f"refs/heads/{name}" for name in above), *place.agents.refs(f"refs/heads/{below}")):
        commit = place.brought_home(ref)
        if commit is None:
            continue
        held = registrations.holders(place.pair.work)
        if ref in held:
            raise _in_the_way(place, ref.removeprefix("refs/heads/"), f"the worktree {held[ref].path}")
        kept.append(place.keep(commit))
        place.pair.drop_work_ref(ref)
        say(f"{ref} of work.git stood where {place.branch} is to be; it is kept as {kept[-1]}")
    return kept


def free_branch(place: Place, registered: Sequence[Registration]) -> None:
    """See that no other worktree of those `registered` has the branch, and that none of it is locked.

    Raises:
        Busy: with the path, or the reason of the lock.
    """
    for one in registered:
        if place.ref not in one.branches and not one.is_at(place.path):
            continue
        if one.locked is not None:
            raise Busy(
                f"the worktree {one.path} of {place.branch} is locked: {one.locked}",
                hint=f"git --git-dir={place.pair.work} worktree unlock {one.path}",
                code="worktree_locked",
            )
        if not one.is_at(place.path) and one.is_there:
            raise Busy(
                f"the branch {place.branch} is checked out at {one.path}",
                hint="let it go there: git switch --detach",
                code="checked_out_elsewhere",
            )


def sound_registration(
    place: Place, registered: Sequence[Registration], kept: list[str]
) -> Registration | None:
    """That of our folder, both whole; None: nothing is at either's place any more. `kept` grows."""
    chosen = registrations.at(place.path, registered)
    for one in registered:
        stale = place.ref in one.branches and not one.is_there
        if one != chosen and (one.is_at(place.path) or stale):
            let_go(place, one, kept)
    if chosen and place.path.is_dir() and not place.path.is_symlink():
        link = place.path / ".git"
        if not (link.exists() or link.is_symlink()) and any(place.path.iterdir()):
            link.write_text(f"gitdir: {chosen.folder}\n", "utf-8")
            say(f"{place.path} had lost its .git file; it is written again")
        if chosen.is_there:
            return chosen
    clear_folder(place)
    if chosen:
        let_go(place, chosen, kept)
    return None


def let_go(place: Place, one: Registration, kept: list[str]) -> None:
    """Unregister a worktree that is gone; the commit that it was at stays."""
    head = place.brought_home(one.head) if one.head and one.head != place.ref else None
    if head and not place.is_reachable(head):
        kept.append(place.keep(head))
    registering.unregister(one)
    reached("worktree-unregistered")


def clear_folder(place: Place) -> None:
    """Have nothing at the worktree's path: an empty folder is removed, anything else moved aside whole."""
    path = place.path
    if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
        path.rmdir()
    elif path.exists() or path.is_symlink():
        aside = folders.move_aside(path, place.pair.quarantine, timestamp())
        say(f"{path} was no worktree of {place.branch}; it is moved to {aside}")
        reached("worktree-quarantined")


def _folders(branch: str) -> list[str]:
    """The names that cannot be branches beside this one, the outermost first."""
    parts = branch.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def _in_the_way(place: Place, name: str, where: str) -> BadConfig:
    return BadConfig(
        f"the branch {name} of {where} stands where {place.branch} is to be",
        hint=place.name_hint,
        code="branch_in_the_way",
    )
