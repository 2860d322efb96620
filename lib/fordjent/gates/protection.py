"""Branches that nothing of ours is ever pushed to: those that config.toml names, and the default branch."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from harness.git import Git
from harness.worktrees.pair import REMOTE, remote_head


def is_protected(branch: str, protected: Sequence[str], default: str) -> bool:
    """`protected`: names, or patterns as `release/*`. Case does not count: on some disks it does not."""
    name = branch.casefold()
    return name == default.casefold() or any(fnmatchcase(name, one.casefold()) for one in protected)


def default_branch(control: Git) -> str:
    """As the forge told it at the last fetch; "": it has none."""
    return remote_head(control).removeprefix(REMOTE)
