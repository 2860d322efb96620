"""What happened to an issue or pull request, and by whom: what its lists do not tell."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fordjent.forge import paths
from fordjent.forge.forge import Forge
from fordjent.forge.types import NEVER, Label, User


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """`type`: label, assignees, close, reopen, merge_pull … `body` "1" of a label: it was set, else taken off."""

    type: str = ""
    user: User = User()
    body: str = ""
    label: Label | None = None
    assignee: User = User()
    removed_assignee: bool = False
    created_at: datetime = NEVER

    @property
    def label_set(self) -> str:
        """The name of the label that was set; "": none was."""
        return self.label.name if self.type == "label" and self.label and self.body == "1" else ""


async def since(forge: Forge, repository: str, number: int, moment: datetime) -> list[Happening]:
    """Oldest first."""
    path = paths.of(repository, "issues", number, "timeline")
    return await forge.all(path, Happening, {"since": moment.isoformat()})
