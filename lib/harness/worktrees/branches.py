"""Where the work on an issue begins: what its branch is to be, from what origin has and what we have.

All in control.git, by commit ids. Published commits are never rewritten, a person's
force-push stands, and what cannot be carried on is named, to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.git import Git
from harness.worktrees.replaying import put_on_top


@dataclass(frozen=True)
class Beginning:
    """`start`: the commit that the branch is to be at; `kept`: commits that it leaves behind."""

    start: str
    kept: tuple[str, ...] = ()
    anew: bool = False
    """The branch was deleted on origin; what it once was is over."""


def beginning(
    git: Git, *, base: str, remote: str | None, local: str | None, once: Sequence[str]
) -> Beginning:
    """What the branch is to be.

    `remote` and `local`: where origin's branch and work.git's stand; `base`: the commit
    that work without a branch starts from; `once`: what origin has had on the branch
    (`published.heads`). All are in control.git.
    """
    if remote:
        return _on_origin(git, remote, local, once)
    if once:
        left = [commit for commit in (local, *once) if commit and not git.is_ancestor(commit, base)]
        return Beginning(base, tuple(dict.fromkeys(left)), anew=True)
    if local and not git.is_ancestor(local, base):
        return Beginning(local)
    return Beginning(base)


def _on_origin(git: Git, remote: str, local: str | None, once: Sequence[str]) -> Beginning:
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
