"""What the loop works with: conversation, tools, limits, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

import msgspec

from fordjent.models.messages import Answer, Message, ToolCall, ToolSpec
from fordjent.models.model import ModelFailure

Reason = Literal[
    "answered", "max_turns", "no_progress", "ended_by_tool", "cancelled", "error", "budget", "timeout"
]

Watch = Callable[[], Literal["", "cancelled", "timeout"]]
"""Why the run is to stop; "": it may go on. Asked twice a second: a look at memory, not at a disk."""


class ToolResult(msgspec.Struct, frozen=True):
    """What came of a tool call."""

    text: str
    """For the model: redacted, capped."""
    failed: bool = False
    ends: bool = False
    """The run is over with it, e.g. the pull request is open."""
    changed: bool = False
    """A file, a commit or something on the forge is not what it was."""


class Toolbox(Protocol):
    """The tools of one session."""

    def specs(self) -> list[ToolSpec]:
        """Always the same, in the same order."""
        ...

    async def call(self, call: ToolCall) -> ToolResult:
        """Do it. What goes wrong is told in the result; only bugs and cancellation are raised."""
        ...


class Conversation(Protocol):
    """The messages of one session, kept by somebody who outlives the process."""

    async def messages(self) -> list[Message]:
        """Those that the model is to be sent, in order."""
        ...

    async def append(self, *messages: Message) -> None:
        """On disk, all or none, when it returns."""
        ...

    async def replace(self, changes: Mapping[int, Message | None]) -> None:
        """From now on `messages()` has others at these places; None: nothing there any more."""
        ...

    async def new_inputs(self) -> list[Message]:
        """What people said meanwhile: marked as given and appended to `messages()` in one transaction."""
        ...

    async def note_turn(self, number: int, answer: Answer) -> None:
        """The model has answered in this turn, the `number`th of the run, from 1."""
        ...


class Limits(msgspec.Struct, frozen=True):
    """Where a run ends, and how much the model can be sent."""

    max_turns: int
    context_window: int = 128_000
    """Tokens, the answer's included."""
    compaction_threshold: float = 0.8
    """Share of the window from which on the conversation is made shorter."""
    compaction: Literal["truncate", "summary"] = "truncate"


class Ended(msgspec.Struct, frozen=True):
    """How a run ended. `text` is the model's last answer, else why it ended."""

    reason: Reason
    text: str
    turns: int
    failure: ModelFailure | None = None
    """With `error` and `budget`, where the model is the reason."""
