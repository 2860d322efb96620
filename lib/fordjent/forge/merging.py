"""Merging a pull request, and what the server means when it does not.

"Please try again later" (405) is its answer while it still looks whether it can be merged, to a
conflict, and while a check or an approval is missing; `mergeable` tells a conflict from the rest,
once it has looked.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Literal

from fordjent.forge import paths, pulls
from fordjent.forge.errors import (
    Archived,
    Conflict,
    Draft,
    ForgeError,
    HeadMoved,
    MergeConflict,
    NotAllowed,
    NotYet,
    Refused,
)
from fordjent.forge.forge import Forge
from fordjent.forge.types import Pull

Style = Literal["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"]

TRY_AGAIN = "Please try again later"
PATIENCE_SECONDS = 30.0
"""How long `mergeable: false` may mean that the server still looks."""
LONGEST_PAUSE_SECONDS = 4.0
REFUSALS = 3
"""So often it may refuse what is mergeable, before a check or an approval must be missing."""


async def merge(
    forge: Forge,
    repository: str,
    number: int,
    *,
    head_commit: str,
    style: Style = "merge",
    title: str = "",
    message: str = "",
    patience_seconds: float = PATIENCE_SECONDS,
    pause_seconds: float = 0.5,
) -> Pull:
    """Merge exactly `head_commit`. Already merged is success.

    Raises:
        HeadMoved: the branch has another head by now.
        MergeConflict: it conflicts with its base.
        Draft: it is marked as work in progress.
        NotYet: mergeable, but a check, an approval or something that it depends on is missing.
        Refused: closed without a merge, or the repository does not allow that style.
        NotAllowed: this account may not merge it.
    """
    until = monotonic() + patience_seconds
    refusals = 0
    while True:
        try:
            await _ask(forge, repository, number, head_commit, style, title, message)
            return await pulls.get(forge, repository, number)
        except (NotAllowed, Refused, Archived):
            raise
        except ForgeError as error:
            pull = await pulls.get(forge, repository, number)
            if pull.merged:
                return pull
            _give_up(error, pull, head_commit)
            refusals += pull.mergeable
            if refusals >= REFUSALS or monotonic() >= until:
                raise _reason(error, pull) from error
        await asyncio.sleep(min(pause_seconds, max(until - monotonic(), 0.0)))
        pause_seconds = min(pause_seconds * 2, LONGEST_PAUSE_SECONDS)


async def _ask(
    forge: Forge, repository: str, number: int, head_commit: str, style: str, title: str, message: str
) -> None:
    asked = {
        "Do": style,
        "head_commit_id": head_commit,
        "MergeTitleField": title,
        "MergeMessageField": message,
    }
    given = {name: value for name, value in asked.items() if value}
    await forge.request("POST", paths.of(repository, "pulls", number, "merge"), body=given)


def _give_up(error: ForgeError, pull: Pull, head_commit: str) -> None:
    """Raise what no further try will change."""
    said = error.said.lower()
    where = (error.method, error.path, error.status)
    if pull.state == "closed":
        raise Refused(*where, "it was closed without being merged") from error
    if pull.head.sha != head_commit or "head out of date" in said:
        raise HeadMoved(*where, f"its head is {pull.head.sha} by now, not {head_commit}") from error
    if pull.draft or "work in progress" in said:
        raise Draft(*where, error.said) from error
    if isinstance(error, NotYet) and "not allowed" in said:
        raise NotAllowed(*where, error.said) from error
    if isinstance(error, NotYet) and any(word in said for word in ("merge style", "fast-forward")):
        raise Refused(*where, error.said) from error
    if isinstance(error, Conflict) and "out of date" not in said:
        raise MergeConflict(*where, error.said or "it conflicts with its base") from error
    if not isinstance(error, (NotYet, Conflict)):
        raise error


def _reason(error: ForgeError, pull: Pull) -> ForgeError:
    """What the last refusal comes down to, after patience."""
    where = (error.method, error.path, error.status)
    if not pull.mergeable:
        return MergeConflict(*where, f"it conflicts with {pull.base.ref}")
    if error.said and error.said != TRY_AGAIN:  # its base moved each time, or dependencies are open
        return NotYet(*where, error.said)
    return NotYet(*where, "a check or an approval is missing")
