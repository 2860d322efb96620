"""Commits on a data branch, with git plumbing: no checkout, no index, no hook, exact bytes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from ent_agent.tracker import exclusion
from ent_agent.tracker.changes import (
    AddComment,
    AddDependency,
    AddTag,
    Change,
    EditComment,
    NewIssue,
    RemoveTag,
    SetAssignee,
    SetDescription,
    SetDoneTime,
    SetState,
)
from ent_agent.tracker.draft import Draft
from ent_agent.tracker.format import README
from harness.errors import Busy
from harness.git import Git, GitFailed
from harness.packing import object_id

__all__ = [
    "AddComment",
    "AddDependency",
    "AddTag",
    "Change",
    "EditComment",
    "NewIssue",
    "RemoveTag",
    "SetAssignee",
    "SetDescription",
    "SetDoneTime",
    "SetState",
    "commit",
    "create",
    "update",
]

ATTEMPTS = 5

Build = Callable[[str | None], str]
"""From the tip of a branch (None: there is no branch) to the commit that it shall become."""


def commit(
    git: Git, parent: str | None, changes: Sequence[Change], *, message: str = "", sign: bool = False
) -> str:
    """New commits on `parent`, one per change as entomologist makes them; the last one's id.

    With `message` one commit has all changes. A change that changes nothing gives no
    commit: `parent` comes back when none does. No ref is moved. `parent` None: the branch
    is begun first.

    Raises:
        NotFound, BadData: a change cannot be made.
    """
    tip = parent or create(git, sign=sign)
    tree = git.objects.tree_of(tip)
    draft = Draft(git, tree)
    for change in (step for asked in changes for step in (asked, *asked.then())):
        said = change.apply(draft)
        if not message:
            tip, tree = _committed(git, tip, tree, draft, said, sign)
    return _committed(git, tip, tree, draft, message, sign)[0] if message else tip


def create(git: Git, *, sign: bool = False) -> str:
    """The first commit of a data branch, as entomologist makes it."""
    width = 32 if git.text("rev-parse", "--show-object-format") == "sha256" else 20
    content = b"100644 README.md\0" + bytes.fromhex(object_id("blob", README, width))
    _, tree = git.objects.write_many([("blob", README), ("tree", content)], width)
    return git.objects.write_commit(tree, [], "create entomologist issue branch", sign=sign)


def update(git: Git, ref: str, build: Build) -> str:
    """Move a local ref to what `build` makes of its tip, with no change of anybody lost.

    Our own processes wait for each other on a file lock, a real `ent` is kept out
    (`exclusion`), the ref moves by compare-and-swap, and it is looked at again. `build`
    may be called several times.

    Raises:
        Busy: somebody else has the branch for long, or it would not stand still.
    """
    with exclusion.alone(git, ref):
        for _ in range(ATTEMPTS):
            tip = git.objects.resolve(ref)
            new = build(tip)
            if new == tip:
                return new
            moved = git.run("update-ref", ref, new, tip or "", check=False)
            if moved.ok and _is_in(git, new, ref):
                return new
            if not moved.ok and git.objects.resolve(ref) == tip:  # no race: a full disk, a left-over lock
                said = moved.error_text.partition("\n")[0]
                raise GitFailed(moved, message=f"{ref} cannot be moved: {said or 'git did not say why'}")
    raise Busy(f"{ref} of {git.git_dir} changed {ATTEMPTS} times while it was being written")


def _committed(git: Git, parent: str, before: str, draft: Draft, message: str, sign: bool) -> tuple[str, str]:
    """The commit of what `draft` has now, and its tree; `parent` when that is the tree `before`."""
    tree = draft.write()
    if tree == before:
        return parent, before
    made = git.objects.write_commit(tree, [parent], message, timestamp=_timestamp(git, parent), sign=sign)
    return made, tree


def _timestamp(git: Git, parent: str) -> int | None:
    """The parent's committer time when the clock is behind it, else None: merges go by these times."""
    header = git.objects.read(parent).partition(b"\n\n")[0]
    found = re.search(rb"^committer .*> (\d{1,12})\b", header, re.MULTILINE)
    before = int(found[1]) if found else 0
    return before if before > time.time() else None


def _is_in(git: Git, commit: str, ref: str) -> bool:
    """Whether the ref still has the commit; one that started before us may have moved it back."""
    tip = git.objects.resolve(ref)
    return tip == commit or (tip is not None and git.is_ancestor(commit, tip))
