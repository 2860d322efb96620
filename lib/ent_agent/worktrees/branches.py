"""Where the work on an issue begins: what its branch is to be, from what origin has and what we have.

All in control.git, by commit ids. Published commits are never rewritten, a person's
force-push stands, and what cannot be carried on is kept under refs/ent-agent/kept/.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ent_agent.repositories import published
from harness.git import Git, GitFailed

KEPT = "refs/ent-agent/kept/"


@dataclass(frozen=True)
class Beginning:
    """`start`: the commit that the branch is to be at; `kept`: commits that it leaves behind."""

    start: str
    kept: tuple[str, ...] = ()
    anew: bool = False
    """The branch was deleted on origin; what it once was is over."""


def beginning(git: Git, *, branch: str, base: str, remote: str | None, local: str | None) -> Beginning:
    """What the branch is to be.

    `remote` and `local`: where origin's branch and work.git's stand; `base`: the commit
    that work without a branch starts from. All are in control.git.
    """
    once = published.heads(git, branch)
    if remote:
        return _on_origin(git, remote, local, once)
    if once:
        left = [commit for commit in (local, *once) if commit and not git.is_ancestor(commit, base)]
        return Beginning(base, tuple(dict.fromkeys(left)), anew=True)
    if local and not git.is_ancestor(local, base):
        return Beginning(local)
    return Beginning(base)


def keep(git: Git, issue_key: str, commit: str) -> str:
    """Keep a commit of an issue for good; returns the ref. Repeatable."""
    ref = f"{KEPT}{issue_key}/{commit[:12]}"
    git.update_refs([(ref, commit)])
    return ref


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
    stand_in = git.objects.write_commit(
        git.objects.tree_of(onto), [parent] if parent else [], "stand-in", timestamp=0
    )
    options = ["--write-tree", "--no-messages", "--allow-unrelated-histories"]
    merged = git.run("merge-tree", *options, stand_in, commit, check=False)
    if merged.exit_code not in (0, 1):
        raise GitFailed(merged)
    return merged.text.split("\n", 1)[0] if merged.exit_code == 0 else None


def _on_origin(git: Git, remote: str, local: str | None, once: list[str]) -> Beginning:
    if local is None or git.is_ancestor(local, remote):
        return Beginning(remote)
    ours = unpublished(git, local, once)
    if git.is_ancestor(remote, local) and len(ours) == _count(git, local, remote):
        return Beginning(local)
    tip = put_on_top(git, _first_parents(git, local, once), remote)
    return Beginning(tip) if tip else Beginning(remote, (local,))


def unpublished(git: Git, local: str, once: Sequence[str]) -> list[str]:
    """Commits of `local` that origin never had, neither on this branch nor on another."""
    return git.lines("rev-list", local, "--not", "--remotes=origin", *once)


def _first_parents(git: Git, local: str, once: Sequence[str]) -> list[str]:
    return git.lines("rev-list", "--first-parent", "--reverse", local, "--not", "--remotes=origin", *once)


def _count(git: Git, local: str, without: str) -> int:
    return int(git.text("rev-list", "--count", local, "--not", "--remotes=origin", without))


def _is_on_origin(git: Git, commit: str) -> bool:
    return bool(git.text("for-each-ref", "--count=1", "--contains", commit, "refs/remotes/origin/"))
