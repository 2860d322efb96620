"""Pull requests. Their comments and labels are those of the issue with the same number."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal

from msgspec.structs import replace

from fordjent.forge import paths
from fordjent.forge.errors import Conflict, MergeConflict
from fordjent.forge.forge import Forge
from fordjent.forge.types import ChangedFile, Commit, Pull

DIFF_BYTES = 1024 * 1024


async def get(forge: Forge, repository: str, number: int) -> Pull:
    return await forge.get(paths.of(repository, "pulls", number), Pull)


def list_all(
    forge: Forge, repository: str, *, state: Literal["open", "closed", "all"] = "open"
) -> AsyncIterator[Pull]:
    """Oldest first, so that one opened meanwhile shifts none."""
    return forge.pages(paths.of(repository, "pulls"), Pull, {"state": state, "sort": "oldest"})


def list_open(forge: Forge, repository: str) -> AsyncIterator[Pull]:
    return list_all(forge, repository)


async def find(forge: Forge, repository: str, head: str, base: str = "") -> Pull | None:
    """The open one from a branch of this repository, to `base` or, without one, to any."""
    async for pull in list_open(forge, repository):
        if pull.head.ref == head and pull.is_from_here and base in ("", pull.base.ref):
            return pull
    return None


async def create(
    forge: Forge,
    repository: str,
    *,
    head: str,
    base: str,
    title: str,
    body: str = "",
    labels: Sequence[int] = (),
) -> Pull:
    """Open one; where one is open from `head` to `base`, that one, as it is, with `taken_up`.

    Raises:
        NotFound: head or base is no branch there.
        Refused: nothing to merge, or base and head are one.
    """
    made = {"head": head, "base": base, "title": title, "body": body, "labels": list(labels)}
    try:
        return await forge.post(paths.of(repository, "pulls"), Pull, made)
    except Conflict:
        existing = await find(forge, repository, head, base)
        if existing is None:
            raise
        return replace(existing, taken_up=True)


async def edit(
    forge: Forge,
    repository: str,
    number: int,
    *,
    title: str | None = None,
    body: str | None = None,
    state: Literal["open", "closed"] | None = None,
    base: str | None = None,
) -> Pull:
    """Change what is not None. A title that begins with `WIP:` makes it a draft."""
    asked = {"title": title, "body": body, "state": state, "base": base}
    given = {name: value for name, value in asked.items() if value is not None}
    return await forge.patch(paths.of(repository, "pulls", number), Pull, given)


async def close(forge: Forge, repository: str, number: int) -> Pull:
    return await edit(forge, repository, number, state="closed")


async def files(forge: Forge, repository: str, number: int) -> list[ChangedFile]:
    return await forge.all(paths.of(repository, "pulls", number, "files"), ChangedFile)


async def commits(forge: Forge, repository: str, number: int) -> list[Commit]:
    """Newest first."""
    return await forge.all(paths.of(repository, "pulls", number, "commits"), Commit)


async def diff(forge: Forge, repository: str, number: int, at_most: int = DIFF_BYTES) -> tuple[str, bool]:
    """The first `at_most` bytes of its diff, and whether there were more."""
    return await forge.text(f"{paths.of(repository, 'pulls', number)}.diff", at_most)


async def update(forge: Forge, repository: str, number: int) -> None:
    """Let the server merge the base into the head.

    Raises:
        MergeConflict: they conflict.
    """
    try:
        await forge.request("POST", paths.of(repository, "pulls", number, "update"))
    except Conflict as error:
        raise MergeConflict(error.method, error.path, error.status, error.said) from error
