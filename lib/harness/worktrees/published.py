"""Which commits of our branches origin has had: so that none is published twice, nor rewritten.

After a person's force-push or deletion, origin no longer shows what it once had. So each
head of a branch of ours that was ever seen there is kept in control.git as
`<namespace>published/<branch>/<commit>`, unless another one contains it.
"""

from __future__ import annotations

from harness.git import Git
from harness.worktrees.pair import REMOTE


def remember(git: Git, namespace: str, branches: str) -> None:
    """Note where origin's branches stand now. Before a fetch, and after it.

    `branches`: one of them, or with a / at its end all below it.
    """
    known = git.refs(f"{namespace}published/{branches}")
    changes: list[tuple[str, str | None]] = []
    for tracking, oid in git.refs(f"{REMOTE}{branches}").items():
        folder = f"{place(namespace, tracking.removeprefix(REMOTE))}/"
        if f"{folder}{oid}" in known:
            continue
        older = [name for name in known if name.startswith(folder) and git.is_ancestor(known[name], oid)]
        changes += [(f"{folder}{oid}", oid), *((name, None) for name in older)]
    git.update_refs(changes)


def heads(git: Git, namespace: str, branch: str) -> list[str]:
    """Commits that, with all before them, origin has had on the branch."""
    return list(git.refs(f"{place(namespace, branch)}/").values())


def forget(git: Git, namespace: str, branch: str) -> None:
    """The branch begins anew: what it once was does not bind what it will be."""
    git.update_refs((name, None) for name in git.refs(f"{place(namespace, branch)}/"))


def place(namespace: str, branch: str) -> str:
    """Below it are the refs of one branch."""
    return f"{namespace}published/{branch}"
