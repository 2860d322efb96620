"""What an issue depends on, as the forge has it."""

from __future__ import annotations

from fordjent.forge import paths
from fordjent.forge.errors import Circular, ForgeError, NotFound, Unreachable
from fordjent.forge.forge import Forge
from fordjent.forge.types import Issue

LOOKED_AT = 200
"""Issues that are asked for, at most, to see whether a circle would close."""


async def list_all(forge: Forge, repository: str, number: int) -> list[Issue]:
    """What must be done first."""
    return await forge.all(paths.of(repository, "issues", number, "dependencies"), Issue)


async def list_blocked(forge: Forge, repository: str, number: int) -> list[Issue]:
    """What waits for it."""
    return await forge.all(paths.of(repository, "issues", number, "blocks"), Issue)


async def add(forge: Forge, repository: str, number: int, on: int) -> None:
    """Let `number` depend on `on`, of the same repository. One that is there already is no error.

    Raises:
        Circular: `on` depends on `number` (the server says 500 without a word).
        NotFound: one of them is not there, or the repository has dependencies switched off.
    """
    path = paths.of(repository, "issues", number, "dependencies")
    try:
        await forge.post(path, Issue, _meta(repository, on))
    except ForgeError as error:
        if isinstance(error, NotFound) or (isinstance(error, Unreachable) and not error.received):
            raise
        if on in [issue.number for issue in await list_all(forge, repository, number)]:
            return
        if number == on or await _depends(forge, repository, on, number):
            said = f"#{on} depends on #{number} already"
            raise Circular("POST", path, error.status, said) from error
        raise


async def remove(forge: Forge, repository: str, number: int, on: int) -> None:
    """One that is not there is no error (some versions answer 500 to that)."""
    path = paths.of(repository, "issues", number, "dependencies")
    try:
        await forge.delete(path, _meta(repository, on))
    except NotFound:
        return
    except Unreachable:
        if on in [issue.number for issue in await list_all(forge, repository, number)]:
            raise


async def _depends(forge: Forge, repository: str, number: int, on: int) -> bool:
    """Whether `number` depends on `on`, over however many others."""
    ahead, looked_at = [number], {number}
    while ahead and len(looked_at) <= LOOKED_AT:
        for issue in await list_all(forge, repository, ahead.pop()):
            if issue.number == on:
                return True
            if issue.number not in looked_at:
                looked_at.add(issue.number)
                ahead.append(issue.number)
    return False


def _meta(repository: str, number: int) -> dict[str, str | int]:
    owner, name = repository.split("/")
    return {"owner": owner, "repo": name, "index": number}
