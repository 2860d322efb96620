"""Commits made again on top of others, by merging trees alone: no working files, no drivers, no hooks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.git import Git, GitFailed
from harness.process import Finished


def put_on_top(git: Git, commits: Sequence[str], onto: str) -> str | None:
    """The changes of `commits` (oldest first) on `onto`, each as a commit; None: they conflict.

    What `onto` has already is not made again. The same input makes the same commits.
    """
    tip = onto
    for commit in commits:
        picked = pick(git, commit, tip)
        if picked is None:
            return None
        tip = picked
    return tip


def pick(git: Git, commit: str, onto: str) -> str | None:
    """`commit` again, on `onto`: message, author and times stay. None: it conflicts.

    Of a merge it is what that changed in its first parent; a second parent stays one
    only where origin has it, lest it brings back what a person took away.
    """
    header, _, message = git.objects.read(commit).partition(b"\n\n")
    parents = re.findall(rb"^parent ([0-9a-f]+)$", header, re.MULTILINE)
    tree = merged_tree(git, commit, parents[0].decode() if parents else None, onto)
    if tree is None:
        return None
    others = [parent for parent in parents[1:] if _is_on_origin(git, parent.decode())]
    if tree == git.objects.tree_of(onto) and not others:
        return onto
    lines = [b"tree " + tree.encode(), b"parent " + onto.encode(), *(b"parent " + one for one in others)]
    lines += re.findall(rb"^(?:author|committer|encoding) .*$", header, re.MULTILINE)
    return git.objects.write("commit", b"\n".join(lines) + b"\n\n" + message)


def merged_tree(git: Git, commit: str, parent: str | None, onto: str) -> str | None:
    """The tree of `onto` with what `commit` changed in `parent`; None: it conflicts.

    `git merge-tree` (2.38) finds the base by itself: so `onto` stands as a child of
    `parent`. No merge driver, filter or hook of the repository's takes part.
    """
    merged = _merged(git, commit, parent, onto)
    return merged.text.split("\0", 1)[0] if merged.exit_code == 0 else None


def conflicts(git: Git, ours: str, theirs: str) -> list[str]:
    """The files in which two commits cannot be merged; none: they can."""
    return _names(_merge_tree(git, ours, theirs))


def conflicts_on_top(git: Git, commits: Sequence[str], onto: str) -> list[str]:
    """The files in which the first of `commits` that conflicts does so, where `put_on_top` gives None."""
    tip = onto
    for commit in commits:
        picked = pick(git, commit, tip)
        if picked is None:
            parents = git.text("rev-list", "--parents", "--max-count=1", commit).split()[1:]
            return _names(_merged(git, commit, parents[0] if parents else None, tip))
        tip = picked
    return []


def _merged(git: Git, commit: str, parent: str | None, onto: str) -> Finished:
    stand_in = git.objects.write_commit(
        git.objects.tree_of(onto), [parent] if parent else [], "stand-in", timestamp=0
    )
    return _merge_tree(git, stand_in, commit)


def _merge_tree(git: Git, ours: str, theirs: str) -> Finished:
    options = ["--write-tree", "--name-only", "-z", "--no-messages", "--allow-unrelated-histories"]
    merged = git.run("merge-tree", *options, ours, theirs, check=False)
    if merged.exit_code not in (0, 1):
        raise GitFailed(merged)
    return merged


def _names(merged: Finished) -> list[str]:
    return [name for name in merged.text.split("\0")[1:] if name] if merged.exit_code == 1 else []


def _is_on_origin(git: Git, commit: str) -> bool:
    return bool(git.text("for-each-ref", "--count=1", "--contains", commit, "refs/remotes/origin/"))
