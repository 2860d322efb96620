"""Conversations: one in the database, and one that ends with the process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from fordjent.agent import context
from fordjent.models.messages import Answer, Message
from fordjent.store import messages as rows
from fordjent.store.database import Database


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


class StoredConversation:
    """The rows of `messages` of one session, written by one run of it.

    What a session adds, it adds in a class of its own: `new_inputs`, and what is to be noted of a turn.
    """

    def __init__(self, database: Database, key: str, run: str) -> None:
        self.database = database
        self.key = key
        self.run = run
        self.turn = 0

    async def messages(self) -> list[Message]:
        return [stored.message for stored in await self.database.read(rows.sent, self.key)]

    async def append(self, *messages: Message) -> None:
        if messages:
            await self.database.write(rows.append, self.key, self.run, self.turn, messages, time.time())

    async def replace(self, changes: Mapping[int, Message | None]) -> None:
        sent = await self.database.read(rows.sent, self.key)
        by_row = {sent[place].seq: message for place, message in changes.items()}
        await self.database.write(rows.replace, self.key, by_row)

    async def new_inputs(self) -> list[Message]:
        return []

    async def note_turn(self, number: int, answer: Answer) -> None:
        self.turn = number
