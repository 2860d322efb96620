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


async def latest(forge: Forge, repository: str, commit: str) -> list[Status]:
    """The last of each context, by its name. Asked for one by one: `combined` is of one page only."""
    last: dict[str, Status] = {}
    async for status in forge.pages(paths.of(repository, "commits", commit, "statuses"), Status):
        known = last.get(status.context)
        if known is None or status.id > known.id:
            last[status.context] = status
    return [last[context] for context in sorted(last)]


async def combined(forge: Forge, repository: str, ref: str) -> CombinedStatus:
    """The last of each context, together; of a commit, a branch or a tag."""
    return await forge.get(paths.of(repository, "commits", ref, "status"), CombinedStatus)
