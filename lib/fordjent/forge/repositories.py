"""Repositories and who may do what in them."""

from __future__ import annotations

from typing import Literal

import msgspec

from fordjent.forge import paths
from fordjent.forge.errors import NotAllowed, NotFound
from fordjent.forge.forge import Forge
from fordjent.forge.types import Permission, Repository, User

Right = Literal["owner", "admin", "write", "read", "none"]


async def get(forge: Forge, repository: str) -> Repository:
    return await forge.get(paths.of(repository), Repository)


async def list_mine(forge: Forge) -> list[Repository]:
    """Those that the account owns or works in."""
    return await forge.all("/user/repos", Repository)


async def permission(forge: Forge, repository: str, login: str) -> Right:
    """What somebody may do in a repository; "none" also where there is no such account.

    The server tells an administrator of the repository, and everybody of themselves. To another
    account it lists those who can be assigned, which are those who may write; an administrator of
    the whole server who has no share in the repository is not among them.
    """
    try:
        path = paths.of(repository, "collaborators", login, "permission")
        found = (await forge.get(path, Permission)).permission
    except NotFound:
        return "none"
    except NotAllowed:
        names = {user.login.lower() for user in await assignees(forge, repository)}
        return "write" if login.lower() in names else "read"
    try:
        right: Right = msgspec.convert(found, Right)
    except msgspec.ValidationError:
        return "none"
    return right


async def assignees(forge: Forge, repository: str) -> list[User]:
    """Who can be assigned: who may write. The server gives all of them at once."""
    return await forge.get(paths.of(repository, "assignees"), list[User])


async def collaborators(forge: Forge, repository: str) -> list[User]:
    return await forge.all(paths.of(repository, "collaborators"), User)


async def add_collaborator(
    forge: Forge, repository: str, login: str, right: Literal["read", "write", "admin"]
) -> None:
    await forge.request(
        "PUT",
        paths.of(repository, "collaborators", login),
        body={"permission": right},
        repeatable=True,
    )
