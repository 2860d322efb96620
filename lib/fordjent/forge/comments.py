"""Comments on issues and pull requests (not the inline ones of a review)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from fordjent.forge import paths
from fordjent.forge.errors import NotFound
from fordjent.forge.forge import Forge
from fordjent.forge.types import Comment


async def create(forge: Forge, repository: str, number: int, body: str) -> Comment:
    return await forge.post(paths.of(repository, "issues", number, "comments"), Comment, {"body": body})


async def get(forge: Forge, repository: str, comment_id: int) -> Comment:
    return await forge.get(paths.of(repository, "issues", "comments", comment_id), Comment)


async def edit(forge: Forge, repository: str, comment_id: int, body: str) -> Comment:
    return await forge.patch(paths.of(repository, "issues", "comments", comment_id), Comment, {"body": body})


async def delete(forge: Forge, repository: str, comment_id: int) -> None:
    """One that is gone already is no error."""
    try:
        await forge.delete(paths.of(repository, "issues", "comments", comment_id))
    except NotFound:
        return


async def list_all(
    forge: Forge, repository: str, number: int, since: datetime | None = None
) -> list[Comment]:
    """Oldest first. The server gives all of them at once."""
    asked = {"since": since.isoformat()} if since else None
    return await forge.get(paths.of(repository, "issues", number, "comments"), list[Comment], asked)


def list_repository(forge: Forge, repository: str, since: datetime | None = None) -> AsyncIterator[Comment]:
    """Those of all issues and pull requests of a repository, that were written or edited since."""
    asked = {"since": since.isoformat()} if since else None
    return forge.pages(paths.of(repository, "issues", "comments"), Comment, asked)
