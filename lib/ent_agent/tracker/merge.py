"""The merge of two commits of a data branch, by meaning (`merge_issues` has the rules).

It always succeeds, never writes a conflict marker, and gives the same tree on every host
and from both sides, however the histories crossed.
"""

from __future__ import annotations

import time

from ent_agent.tracker.merge_cells import Cell
from ent_agent.tracker.merge_clock import Clock, Given, contested, given_by, read_clock
from ent_agent.tracker.merge_issues import merge_trees, root_cell
from ent_agent.tracker.pending import Pending
from harness.git import Git, GitFailed

# Histories that crossed many times have merge bases whose bases are several again.
MAX_DEPTH = 6
MAX_BASES = 4


def merge(git: Git, ours: str, theirs: str, *, message: str, sign: bool = False) -> str:
    """The commit that has both; no ref is moved.

    One of the two when it contains the other, else a merge commit (parents: ours,
    theirs) by `git.person`. Unrelated histories merge too.

    Raises:
        BadData: one of them is not a commit.
    """
    for commit in (ours, theirs):
        git.objects.tree_of(commit)
    if git.is_ancestor(theirs, ours):
        return ours
    if git.is_ancestor(ours, theirs):
        return theirs
    tree = merged_tree(git, ours, theirs)
    when = timestamp_after(git, [ours, theirs])
    return git.objects.write_commit(tree, [ours, theirs], message, timestamp=when, sign=sign)


def merged_tree(git: Git, ours: str, theirs: str) -> str:
    """The tree of the merge of two commits."""
    return _Merges(git).tree(ours, theirs)


def timestamp_after(git: Git, parents: list[str]) -> int:
    """Committer time for a child of `parents`: now, or theirs where a clock was ahead.

    The order within a history must not run backwards: merges decide by it.
    """
    return max(int(time.time()), *(given_by(data).time for data in git.objects.read_many(parents)))


class _Merges:
    """The merge asked for, and those of its merge bases (a virtual base, as git's own merge makes it)."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._done: dict[tuple[str, str], str] = {}

    def tree(self, ours: str, theirs: str, depth: int = 0) -> str:
        pair = (min(ours, theirs), max(ours, theirs))
        if pair not in self._done:
            self._done[pair] = self._tree(ours, theirs, depth)
        return self._done[pair]

    def _tree(self, ours: str, theirs: str, depth: int) -> str:
        objects = self._git.objects
        our_tree, their_tree = objects.tree_of(ours), objects.tree_of(theirs)
        if our_tree == their_tree:
            return our_tree
        bases = merge_bases(self._git, ours, theirs)
        base = self._base(bases, depth)
        cells = list(contested(objects, root_cell(base, our_tree, their_tree)))
        pending = Pending(self._git, our_tree)
        tree = merge_trees(pending, base, our_tree, their_tree, self._clock(ours, theirs, bases, cells))
        pending.store()
        return tree

    def _clock(self, ours: str, theirs: str, bases: list[str], cells: list[Cell]) -> Clock:
        if not cells:
            return lambda side, path: Given(0, "")
        return read_clock(self._git, ours, theirs, bases, cells)

    def _base(self, bases: list[str], depth: int) -> str | None:
        """The tree that both sides started from: of several merge bases, their merge."""
        if not bases:
            return None
        if len(bases) == 1 or depth >= MAX_DEPTH:
            return self._git.objects.tree_of(bases[0])
        *others, last = bases[:MAX_BASES]
        return self.tree(self._joined(others, depth), last, depth + 1)

    def _joined(self, commits: list[str], depth: int) -> str:
        """One commit, on no ref, that has all of them."""
        first, *others = commits
        for other in others:
            tree = self.tree(first, other, depth + 1)
            latest = max(given_by(data).time for data in self._git.objects.read_many([first, other]))
            first = self._git.objects.write_commit(tree, [first, other], "merge base", timestamp=latest)
        return first


def merge_bases(git: Git, ours: str, theirs: str) -> list[str]:
    """All best common ancestors, in a fixed order; none when the histories are unrelated."""
    found = git.run("merge-base", "--all", ours, theirs, check=False)
    if found.exit_code not in (0, 1):
        raise GitFailed(found)
    return sorted(found.text.split())
