"""Which commits of our branches origin has had: so that none is published twice, nor rewritten.

After a person's force-push or deletion, origin no longer shows what it once had. So each
head of a branch of ours that was ever seen there is kept in control.git as
`refs/ent-agent/published/<branch>/<commit>`, unless another one contains it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ent_agent.config import Config
from ent_agent.repositories.repositories import REMOTE
from harness.git import Git

PUBLISHED = "refs/ent-agent/published/"


def remember(git: Git, config: Config) -> None:
    """Note where origin's branches of this agent stand now. Before a fetch, and after it."""
    ours = git.refs(f"{REMOTE}{config.id}/")
    known = git.refs(f"{PUBLISHED}{config.id}/")
    changes: list[tuple[str, str | None]] = []
    for tracking, oid in ours.items():
        folder = f"{PUBLISHED}{tracking.removeprefix(REMOTE)}/"
        if f"{folder}{oid}" in known:
            continue
        older = [name for name in known if name.startswith(folder) and git.is_ancestor(known[name], oid)]
        changes += [(f"{folder}{oid}", oid), *((name, None) for name in older)]
    git.update_refs(changes)


def heads(git: Git, branch: str) -> list[str]:
    """Commits that, with all before them, origin has had on the branch."""
    return list(git.refs(f"{PUBLISHED}{branch}/").values())


def forget(git: Git, branch: str) -> None:
    """The branch begins anew: what it once was does not bind what it will be."""
    _delete(git, git.refs(f"{PUBLISHED}{branch}/"))


def _delete(git: Git, names: Iterable[str]) -> None:
    git.update_refs((name, None) for name in names)
