"""Whether a run gets anywhere: the same calls again and again, with no change between them, are no progress."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from fordjent.models.messages import ToolCall

WARNED_AT = 3
ENDED_AT = 6
"""Times that one and the same turn was taken since something last changed."""
NOT_UNDERSTOOD_AT = 5
"""Turns in a row of which no call could be understood."""

WARNING = (
    "You have made the same calls several times, and nothing has changed. Do something else: change a file, try "
    "another way, or, if you cannot go on, answer without a call and say what is in the way."
)


class Progress:
    """Of one run."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._not_understood = 0

    def after(
        self, calls: Sequence[ToolCall], *, changed: bool, understood: bool
    ) -> Literal["", "warn", "end"]:
        """What to do after a turn with these calls. `understood`: at least one of them was carried out."""
        self._not_understood = 0 if understood else self._not_understood + 1
        if self._not_understood >= NOT_UNDERSTOOD_AT:
            return "end"
        if changed:
            self._seen.clear()
            return ""
        turn = _signature(calls)
        self._seen[turn] += 1
        if self._seen[turn] >= ENDED_AT:
            return "end"
        return "warn" if self._seen[turn] == WARNED_AT else ""


def _signature(calls: Sequence[ToolCall]) -> str:
    text = "\0".join(sorted(f"{call.name}\0{call.arguments}" for call in calls))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
