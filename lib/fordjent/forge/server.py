"""What the server says of itself."""

from __future__ import annotations

from fordjent.forge.forge import Forge
from fordjent.forge.types import Limits, Ui, Version


async def version(forge: Forge) -> str:
    return (await forge.get("/version", Version)).version


async def settings_ui(forge: Forge) -> Ui:
    """The reactions that are allowed, among others."""
    return await forge.get("/settings/ui", Ui)


async def settings_api(forge: Forge) -> Limits:
    """How much it gives at once."""
    return await forge.get("/settings/api", Limits)
