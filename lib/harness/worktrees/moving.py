"""The files of a worktree: written anew, or brought from one commit to another with what nobody committed."""

from __future__ import annotations

from pathlib import Path

from harness import folders
from harness.diagnostics import say
from harness.effects import reached
from harness.git import GitFailed
from harness.worktrees import clearing, registering, replaying, workspace
from harness.worktrees.place import Place
from harness.worktrees.registrations import Registration
from harness.worktrees.workspace import Workspace


def check_out(place: Place, start: str) -> None:
    """Files, registration and folder, each made aside and put in place whole."""
    aside = place.pair.worktrees / f".new-{place.key}"
    folders.remove(aside)
    aside.mkdir(parents=True)
    Workspace(place.git, aside, place.space.index).fill(start)
    reached("worktree-filled")
    registered = registering.register(place.pair.work, place.path, place.ref, place.key)
    _give_index(place, registered)
    reached("worktree-registered")
    (aside / ".git").write_text(f"gitdir: {registered}\n", "utf-8")
    aside.rename(place.path)
    reached("worktree-placed")


def bring(place: Place, registered: Registration, head: str, start: str, kept: list[str]) -> bool:
    """Bring the files from `head`, which they stem from, to `start`; uncommitted changes move along.

    Those of something half-way, or that conflict, are kept instead (`kept` grows). False:
    it could not be done; the folder is moved aside.
    """
    moves = head != start or bool(registered.halfway)
    try:
        if moves:
            _carry_over(place, registered, head, start, kept)
    except GitFailed as failed:
        say(f"{place.path} cannot be brought to {start[:12]}: {failed.message}")
        clearing.clear_folder(place)
        clearing.let_go(place, registered, kept)
        return False
    for lock in registered.folder.glob("*.lock"):
        lock.unlink(missing_ok=True)  # of a killed git: who may use this worktree is alone here
    if moves:
        _give_index(place, registered.folder)
    elif not place.space.is_sound(registered.folder / "index"):
        place.space.load(start)
        _give_index(place, registered.folder)
    registering.detach_from_halfway(registered)
    return True


def _carry_over(place: Place, registered: Registration, head: str, start: str, kept: list[str]) -> None:
    was = place.space.tree_with_obstacles(head, start)
    to = place.git.objects.tree_of(start)
    if was != place.git.objects.tree_of(head):
        change = workspace.left_over_commit(place.git, head, was)
        merged = None if registered.halfway else replaying.merged_tree(place.git, change, head, start)
        if merged is None:
            kept.append(place.keep(change))
        to = merged or to
    reached("worktree-left-overs-kept")
    place.space.move(was, to, start)
    reached("worktree-files-moved")


def _give_index(place: Place, registered: Path) -> None:
    """The index that git finds in the worktree: a copy of ours."""
    workspace.copy_into_place(place.space.index, registered / "index")
