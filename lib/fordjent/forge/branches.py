"""Branches, and what lies between two of them."""

from __future__ import annotations

from fordjent.forge import paths
from fordjent.forge.errors import NotFound, Unreachable
from fordjent.forge.forge import Forge
from fordjent.forge.types import Branch, Comparison


async def get(forge: Forge, repository: str, name: str) -> Branch:
    return await forge.get(paths.of(repository, "branches", name), Branch)


async def list_all(forge: Forge, repository: str) -> list[Branch]:
    """None in an empty repository."""
    return await forge.all(paths.of(repository, "branches"), Branch)


async def create(forge: Forge, repository: str, name: str, *, start: str) -> Branch:
    """`start`: a branch, tag or commit.

    Raises:
        Conflict: there is one of that name.
    """
    made = {"new_branch_name": name, "old_ref_name": start}
    return await forge.post(paths.of(repository, "branches"), Branch, made)


async def delete(forge: Forge, repository: str, name: str) -> None:
    """Its open pull request is closed by that.

    Raises:
        NotFound: there is none (some versions answer 500 to that).
        NotAllowed: the default branch, or a protected one.
    """
    path = paths.of(repository, "branches", name)
    try:
        await forge.delete(path)
    except Unreachable as error:
        try:
            await get(forge, repository, name)
        except NotFound as missing:
            raise NotFound("DELETE", path, 404, f"there is no branch {name}") from missing
        raise error


async def compare(forge: Forge, repository: str, base: str, head: str) -> Comparison:
    """What `head` has and `base` has not: `base...head`."""
    names = f"{paths.tail(base)}...{paths.tail(head)}"
    return await forge.get(f"{paths.of(repository, 'compare')}/{names}", Comparison)
