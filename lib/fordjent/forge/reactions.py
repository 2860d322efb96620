"""Reactions: 👀 ⏳ ✅ ❌ where the server allows them, else the nearest that it does."""

from __future__ import annotations

from collections.abc import Collection

from fordjent.forge import paths, server
from fordjent.forge.errors import NotAllowed, NotFound, Refused
from fordjent.forge.forge import Forge
from fordjent.forge.types import Reaction

SEEN, WORKING, DONE, FAILED = "👀", "⏳", "✅", "❌"

NAMES = {
    "👀": "eyes",
    "⏳": "hourglass_flowing_sand",
    "✅": "white_check_mark",
    "❌": "x",
    "⚠️": "warning",
    "🚀": "rocket",
    "👍": "+1",
    "👎": "-1",
    "😄": "laugh",
    "🎉": "hooray",
    "😕": "confused",
    "❤️": "heart",
}
"""What the server calls them."""

NEAREST: dict[str, tuple[str, ...]] = {
    "eyes": ("eyes", "heart"),
    "hourglass_flowing_sand": ("hourglass_flowing_sand", "hourglass", "rocket", "heart"),
    "white_check_mark": ("white_check_mark", "heavy_check_mark", "hooray", "tada", "+1"),
    "x": ("x", "negative_squared_cross_mark", "no_entry", "confused", "-1"),
    "warning": ("warning", "confused", "-1"),
    "tada": ("tada", "hooray"),
    "hourglass": ("hourglass", "hourglass_flowing_sand", "rocket"),
}
STOCK = frozenset(("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"))


def nearest(wanted: str, allowed: Collection[str]) -> str:
    """What is allowed and says `wanted` (an emoji or its name) best; empty: nothing does."""
    name = NAMES.get(wanted, wanted.strip().strip(":"))
    for choice in (wanted, *NEAREST.get(name, (name,))):
        if choice in allowed:
            return choice
    return ""


async def allowed(forge: Forge) -> frozenset[str]:
    """What the server allows; asked once per process."""
    if forge.pool.reactions is None:
        try:
            listed = (await server.settings_ui(forge)).allowed_reactions
        except (NotFound, NotAllowed):
            listed = []
        forge.pool.reactions = frozenset(listed) or STOCK
    return forge.pool.reactions


async def add(
    forge: Forge, repository: str, number: int, wanted: str, *, comment_id: int = 0
) -> Reaction | None:
    """React to an issue or pull request, or to a comment. None: the server allows nothing like it.

    Again is no error.

    Raises:
        NotAllowed: it is locked, or this account is blocked.
    """
    content = nearest(wanted, await allowed(forge))
    if not content:
        return None
    path = _path(repository, number, comment_id)
    return await forge.post(path, Reaction, {"content": content}, repeatable=True)


async def remove(forge: Forge, repository: str, number: int, wanted: str, *, comment_id: int = 0) -> None:
    """Take back what `add` made of `wanted`. One that is not there is no error."""
    content = nearest(wanted, await allowed(forge))
    if not content:
        return
    try:
        await forge.delete(_path(repository, number, comment_id), {"content": content})
    except (NotFound, Refused):
        return


async def list_all(forge: Forge, repository: str, number: int, *, comment_id: int = 0) -> list[Reaction]:
    """Those of a comment the server gives all at once."""
    path = _path(repository, number, comment_id)
    return await (forge.get(path, list[Reaction]) if comment_id else forge.all(path, Reaction))


def _path(repository: str, number: int, comment_id: int) -> str:
    if comment_id:
        return paths.of(repository, "issues", "comments", comment_id, "reactions")
    return paths.of(repository, "issues", number, "reactions")
