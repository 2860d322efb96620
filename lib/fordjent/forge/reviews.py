"""Reviews of pull requests, their inline comments, and who is asked for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from fordjent.forge import paths
from fordjent.forge.errors import NotFound, Refused
from fordjent.forge.forge import Forge
from fordjent.forge.types import Review, ReviewComment

Verdict = Literal["APPROVED", "REQUEST_CHANGES", "COMMENT"]


class Remark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An inline comment to make: at a line of the new file, or else of the old one."""

    path: str
    body: str
    new_position: int = 0
    old_position: int = 0


class Requested(msgspec.Struct, frozen=True, kw_only=True):
    """Who was asked, and why the others could not be."""

    asked: list[str] = []
    refused: dict[str, str] = {}


async def list_all(forge: Forge, repository: str, number: int) -> list[Review]:
    """Oldest first; also those that are only asked for."""
    return await forge.all(paths.of(repository, "pulls", number, "reviews"), Review)


async def get(forge: Forge, repository: str, number: int, review_id: int) -> Review:
    return await forge.get(paths.of(repository, "pulls", number, "reviews", review_id), Review)


async def comments(forge: Forge, repository: str, number: int, review_id: int) -> list[ReviewComment]:
    """Every inline comment of a review. The server gives all of them at once."""
    path = paths.of(repository, "pulls", number, "reviews", review_id, "comments")
    return await forge.get(path, list[ReviewComment])


async def create(
    forge: Forge,
    repository: str,
    number: int,
    *,
    event: Verdict,
    body: str = "",
    comments: Sequence[Remark] = (),
    commit: str = "",
) -> Review:
    """
    Raises:
        Refused: the author approves or rejects their own (a COMMENT is allowed), or a remark without a body.
    """
    made = {"event": event, "body": body, "comments": list(comments), "commit_id": commit}
    given = {name: value for name, value in made.items() if value or name == "body"}
    return await forge.post(paths.of(repository, "pulls", number, "reviews"), Review, given)


async def dismiss(forge: Forge, repository: str, number: int, review_id: int, message: str) -> Review:
    """Needs an administrator of the repository."""
    path = paths.of(repository, "pulls", number, "reviews", review_id, "dismissals")
    return await forge.post(path, Review, {"message": message})


async def request(forge: Forge, repository: str, number: int, logins: Sequence[str]) -> Requested:
    """Ask for reviews. The server refuses the whole list for one bad name: then each by itself."""
    if not logins:
        return Requested()
    try:
        await _request(forge, repository, number, list(logins))
        return Requested(asked=list(logins))
    except (NotFound, Refused) as error:
        if len(logins) == 1:
            return Requested(refused={logins[0]: error.said})
    each = [await request(forge, repository, number, [login]) for login in logins]
    return Requested(
        asked=[login for one in each for login in one.asked],
        refused={login: why for one in each for login, why in one.refused.items()},
    )


async def withdraw(forge: Forge, repository: str, number: int, logins: Sequence[str]) -> None:
    """Ask no longer."""
    path = paths.of(repository, "pulls", number, "requested_reviewers")
    await forge.delete(path, {"reviewers": list(logins)})


async def _request(forge: Forge, repository: str, number: int, logins: list[str]) -> None:
    path = paths.of(repository, "pulls", number, "requested_reviewers")
    await forge.post(path, list[Review], {"reviewers": logins}, repeatable=True)
