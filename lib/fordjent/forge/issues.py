"""Issues; a pull request is one too, under the same number."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Literal

from fordjent.forge import paths
from fordjent.forge.forge import Forge
from fordjent.forge.types import Issue

State = Literal["open", "closed", "all"]
Type = Literal["issues", "pulls", ""]


async def get(forge: Forge, repository: str, number: int) -> Issue:
    return await forge.get(paths.of(repository, "issues", number), Issue)


def list_all(
    forge: Forge,
    repository: str,
    *,
    state: State = "open",
    type: Type = "issues",
    labels: Sequence[str] = (),
    query: str = "",
    since: datetime | None = None,
    created_by: str = "",
) -> AsyncIterator[Issue]:
    """Oldest first, so that one opened meanwhile shifts none; `type` "" is issues and pull requests.

    `labels` are names, and all must be there; `since`: changed then or later.
    """
    asked = {
        "state": state,
        "type": type,
        "labels": ",".join(labels),
        "q": query,
        "since": since.isoformat() if since else "",
        "created_by": created_by,
        "sort": "oldest",
    }
    given = {name: value for name, value in asked.items() if value}
    return forge.pages(paths.of(repository, "issues"), Issue, given)


def list_open(forge: Forge, repository: str, *, type: Type = "issues") -> AsyncIterator[Issue]:
    return list_all(forge, repository, state="open", type=type)


async def create(
    forge: Forge,
    repository: str,
    *,
    title: str,
    body: str = "",
    labels: Sequence[int] = (),
    assignees: Sequence[str] = (),
) -> Issue:
    """`labels` are ids (`labels.ensure` has them)."""
    made = {"title": title, "body": body, "labels": list(labels), "assignees": list(assignees)}
    return await forge.post(paths.of(repository, "issues"), Issue, made)


async def edit(
    forge: Forge,
    repository: str,
    number: int,
    *,
    title: str | None = None,
    body: str | None = None,
    state: Literal["open", "closed"] | None = None,
    assignees: Sequence[str] | None = None,
) -> Issue:
    """Change what is not None. Labels are not changed here: the server would ignore them.

    Raises:
        Locked: closed while something that it depends on is open.
    """
    asked = {
        "title": title,
        "body": body,
        "state": state,
        "assignees": None if assignees is None else list(assignees),
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return await forge.patch(paths.of(repository, "issues", number), Issue, given)


async def close(forge: Forge, repository: str, number: int) -> Issue:
    """Raises: Locked: something that it depends on is open."""
    return await edit(forge, repository, number, state="closed")


async def reopen(forge: Forge, repository: str, number: int) -> Issue:
    return await edit(forge, repository, number, state="open")
