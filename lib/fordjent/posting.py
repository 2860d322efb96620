"""What the bot writes for people to read: redacted, capped, marked, and each of it once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from fordjent.forge import comments, issues, reviews
from fordjent.forge.forge import Forge
from fordjent.forge.types import Comment, Issue, Review
from fordjent.marker import has_effect, mark
from fordjent.once import once
from fordjent.session_key import SessionKey
from fordjent.store import effects

if TYPE_CHECKING:
    from fordjent.context import Context

Written = TypeVar("Written", Comment, Issue, Review)

LONGEST = 60_000
"""Characters of a text; some databases under a forge take no more."""
SKEW_SECONDS = 86400.0
"""How far the forge's clock may be from ours."""
CUT = "\n\n… (cut: too long for one comment)"


def readable(context: Context, text: str) -> str:
    """`text` without secrets and what no forge stores, and not too long."""
    redacted = context.redactor.redact(_storable(text))
    return redacted if len(redacted) <= LONGEST else redacted[: LONGEST - len(CUT)] + CUT


async def comment(context: Context, forge: Forge, key: SessionKey, effect_id: str, text: str) -> Comment:
    """A comment on the issue or pull request of `key`.

    Raises:
        ForgeError: it could not be written; the next call with this id looks first whether it was.
    """
    body = mark(readable(context, text), effect_id)

    async def find() -> Comment | None:
        return _found(await comments.list_all(forge, key.repository, key.number), effect_id)

    async def write() -> Comment:
        return await comments.create(forge, key.repository, key.number, body)

    return await once(context, effect_id, "comment", str(key), find=find, do=write, result=Comment)


async def edit(
    context: Context, forge: Forge, repository: str, comment_id: int, text: str, effect_id: str = ""
) -> Comment:
    """Put `text` in the place of what a comment of the bot said; `effect_id` is that of its making.

    Raises:
        NotFound: somebody has deleted it.
    """
    return await comments.edit(forge, repository, comment_id, mark(readable(context, text), effect_id))


async def issue(
    context: Context,
    forge: Forge,
    key: SessionKey,
    effect_id: str,
    *,
    title: str,
    body: str,
    labels: Sequence[int] = (),
) -> Issue:
    """An issue in the repository of `key`, which made it. `labels` are ids."""
    text = mark(readable(context, body), effect_id)

    async def find() -> Issue | None:
        begun = await context.database.read(effects.get, effect_id)
        since = datetime.fromtimestamp(begun.begun_at - SKEW_SECONDS, UTC) if begun else None
        async for made in issues.list_all(forge, key.repository, state="all", since=since):
            if has_effect(made.body, effect_id):
                return made
        return None

    async def write() -> Issue:
        name = context.redactor.redact(_storable(title))
        return await issues.create(forge, key.repository, title=name, body=text, labels=labels)

    return await once(context, effect_id, "issue", str(key), find=find, do=write, result=Issue)


async def review(
    context: Context,
    forge: Forge,
    key: SessionKey,
    effect_id: str,
    *,
    event: reviews.Verdict,
    body: str,
    remarks: Iterable[reviews.Remark] = (),
    commit: str = "",
) -> Review:
    """A review of the pull request of `key`."""
    text = mark(readable(context, body), effect_id)
    inline = [
        reviews.Remark(
            path=remark.path,
            body=mark(readable(context, remark.body), footer=False),
            new_position=remark.new_position,
            old_position=remark.old_position,
        )
        for remark in remarks
    ]

    async def find() -> Review | None:
        return _found(await reviews.list_all(forge, key.repository, key.number), effect_id)

    async def write() -> Review:
        return await reviews.create(
            forge, key.repository, key.number, event=event, body=text, comments=inline, commit=commit
        )

    return await once(context, effect_id, "review", str(key), find=find, do=write, result=Review)


def _storable(text: str) -> str:
    """Without NUL and without halves of characters, as cut or misread output has them."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _found(written: Iterable[Written], effect_id: str) -> Written | None:
    return next((one for one in written if has_effect(one.body, effect_id)), None)
