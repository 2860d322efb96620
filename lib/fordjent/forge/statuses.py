"""Statuses of commits."""

from __future__ import annotations

from typing import Literal

from fordjent.forge import paths
from fordjent.forge.forge import Forge
from fordjent.forge.types import CombinedStatus, Status

Verdict = Literal["pending", "success", "error", "failure", "warning"]


async def create(
    forge: Forge,
    repository: str,
    commit: str,
    *,
    state: Verdict,
    context: str,
    description: str = "",
    target_url: str = "",
) -> Status:
    """The last one of a context counts."""
    made = {"state": state, "context": context, "description": description, "target_url": target_url}
    return await forge.post(paths.of(repository, "statuses", commit), Status, made, repeatable=True)


async def combined(forge: Forge, repository: str, ref: str) -> CombinedStatus:
    """The last of each context, together; of a commit, a branch or a tag."""
    return await forge.get(paths.of(repository, "commits", ref, "status"), CombinedStatus)
