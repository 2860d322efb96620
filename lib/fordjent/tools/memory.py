"""remember."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta

from fordjent.store import notes
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool

LONGEST = 2_000


class Remember(Arguments, frozen=True):
    """Leave a note for the next time that you work on this issue or pull request.

    A decision and its reason, what was tried and did not work, what is left. People do not see it.
    """

    note: Annotated[str, Meta(description="The note", min_length=1, max_length=LONGEST)]


async def remember(scope: Scope, asked: Remember) -> Outcome:
    session = scope.session
    text = scope.redactor.redact(asked.note.strip())
    new = await session.context.database.write(
        notes.add, str(session.key), scope.run, scope.role, text, time.time()
    )
    return Outcome("noted" if new else "that was noted already", changed=new)


TOOLS = (Tool("remember", Remember, remember),)
