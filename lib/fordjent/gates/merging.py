"""Merging a pull request at the commit that was looked at; and trying again what waited for one to be merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from fordjent.forge import merging, pulls, repositories
from fordjent.forge.errors import (
    Archived,
    Draft,
    HeadMoved,
    MergeConflict,
    NotAllowed,
    NotFound,
    NotYet,
    Refused,
)
from fordjent.forge.merging import Style
from fordjent.forge.types import Repository
from fordjent.gates import ci
from fordjent.gates.waiting import retry_waiting
from harness.config import seconds
from harness.effects import reached

if TYPE_CHECKING:
    from fordjent.context import Context
    from fordjent.forge.forge import Forge

PATIENCE_SECONDS = 30.0


class Merged(msgspec.Struct, frozen=True, kw_only=True, tag_field="verdict", tag="merged"):
    """Also where it was merged already."""

    number: int
    commit: str
    style: str


class NotMerged(msgspec.Struct, frozen=True, kw_only=True, tag_field="verdict", tag="not_merged"):
    """`conflict`: somebody has to bring head and base together first; `moved`: the head is another one by now."""

    number: int
    reason: str
    conflict: bool = False
    moved: bool = False


async def merge(
    context: Context,
    repository: str,
    number: int,
    head_commit: str = "",
    *,
    style: Style | Literal[""] = "",
    forge: Forge | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Merged | NotMerged:
    """Merge exactly `head_commit` ("": what is the head now), in `style` or the repository's own way.

    Raises:
        Unreachable: the forge does not answer; the next call finds whether it did it.
    """
    forge = forge or context.forge
    try:
        pull = await pulls.get(forge, repository, number)
        commit = head_commit or pull.head.sha
        if pull.merged:
            return Merged(number=number, commit=pull.merge_commit_sha, style="")
        if context.config.policy.merge != "auto":
            return NotMerged(
                number=number, reason='people merge here (policy.merge = "human"): ask for it in a comment'
            )
        chosen = style_of(await repositories.get(forge, repository), style)
        if chosen is None:
            return NotMerged(number=number, reason=f"the repository does not allow {style or 'any merge'}")
        waits = seconds(context.config.policy.ci_timeout) > 0
        if waits and (why := (await ci.ask(forge, repository, commit)).why_not_ready()):
            return NotMerged(number=number, reason=why)
        merged = await merging.merge(
            forge,
            repository,
            number,
            head_commit=commit,
            style=chosen,
            patience_seconds=patience_seconds,
        )
        reached("pull-merged")
        return Merged(number=number, commit=merged.merge_commit_sha, style=chosen)
    except HeadMoved as error:
        return NotMerged(number=number, reason=f"{error.said}: look at it again", moved=True)
    except MergeConflict as error:
        return NotMerged(number=number, reason=error.said, conflict=True)
    except (Draft, NotYet, Refused, NotAllowed, Archived, NotFound) as error:
        return NotMerged(number=number, reason=error.said or error.message)


def style_of(repository: Repository, asked: str = "") -> Style | None:
    """The style that was asked for, where the repository allows it; else its default, else the first allowed."""
    allows: dict[Style, bool] = {
        "merge": repository.allow_merge_commits,
        "rebase": repository.allow_rebase,
        "rebase-merge": repository.allow_rebase_explicit,
        "squash": repository.allow_squash_merge,
        "fast-forward-only": repository.allow_fast_forward_only_merge,
    }
    allowed = [style for style, allowed in allows.items() if allowed]
    if asked:
        return next((style for style in allowed if style == asked), None)
    default = next((style for style in allowed if style == repository.default_merge_style), None)
    return default or next(iter(allowed), None)


__all__ = ["Merged", "NotMerged", "merge", "retry_waiting", "style_of"]
