"""A conversation that ends with the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fordjent.agent import context
from fordjent.models.messages import Answer, Message


class HeldConversation:
    """In memory; nobody else speaks in it."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = list(messages)

    async def messages(self) -> list[Message]:
        return list(self._messages)

    async def append(self, *messages: Message) -> None:
        self._messages += messages

    async def replace(self, changes: Mapping[int, Message | None]) -> None:
        self._messages = context.applied(self._messages, changes)

    async def new_inputs(self) -> list[Message]:
        return []

    async def note_turn(self, number: int, answer: Answer) -> None:
        pass
