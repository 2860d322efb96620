"""A session's messages in the database, as the loop of turns sees them. Nothing secret is written there."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
import structlog
from sqlalchemy import Connection

from fordjent import durations
from fordjent.agent.protocols import Ended
from fordjent.context import Context
from fordjent.deciding.actions import Input
from fordjent.models.messages import Answer, Message, ToolCall, system, user
from fordjent.models.models import redacted
from fordjent.store import inputs, messages, runs
from fordjent.store.messages import Stored
from harness.effects import reached

Tell = Callable[[Sequence[Input]], str]
"""Inputs as a message: pure and quick, since it is done in a transaction."""

OnTurn = Callable[[], Awaitable[int]]
"""Notes that another turn was taken; how many those are in all starts of the run."""


class SessionConversation:
    """Of one run. Whoever has the session's lease has the only one: what it read stays right."""

    def __init__(self, context: Context, key: str, run: str, meanwhile: Tell, on_turn: OnTurn) -> None:
        self._on_turn = on_turn
        self._context = context
        self._key = key
        self._run = run
        self._meanwhile = meanwhile
        self._stored: list[Stored] = []
        self._last = -1
        self._turn = 0
        self._answered_at = time.monotonic()

    async def load(self) -> None:
        self._stored = await self._context.database.read(messages.sent, self._key)
        last = self._stored[-1].seq if self._stored else -1
        rest = await self._context.database.read(messages.all_of, self._key, last)
        self._last = rest[-1].seq if rest else last

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever said."""
        return not self._stored

    @property
    def is_begun(self) -> bool:
        """Whether this run has been told what is wanted."""
        return any(stored.run == self._run for stored in self._stored)

    async def begin(self, rules: str, tell: Tell) -> list[Input]:
        """Put the rules first, and the inputs that wait last, marked as given: all in one transaction."""
        leading = self._redacted(system(rules))

        def write(connection: Connection) -> list[Input]:
            taken = inputs.take(connection, self._key, self._run)
            told = self._redacted(user(tell(taken)))
            first = [leading] if self.is_new else []
            messages.append(connection, self._key, self._run, 0, [*first, told], time.time())
            if not self.is_new and self._stored[0].message != leading:
                messages.replace(connection, self._key, {self._stored[0].seq: leading})
            return taken

        taken = await self._context.database.write(write)
        await self.load()
        return taken

    # ---- what the loop calls

    async def messages(self) -> list[Message]:
        return [stored.message for stored in self._stored]

    async def append(self, *new: Message) -> None:
        def write(connection: Connection) -> list[Stored]:
            said = [self._redacted(message) for message in new]
            messages.append(connection, self._key, self._run, self._turn, said, time.time())
            return messages.all_of(connection, self._key, self._last)

        self._take_up(await self._context.database.write(write))
        if any(message.tool_calls for message in new):
            reached("calls-kept")

    async def replace(self, changes: Mapping[int, Message | None]) -> None:
        places = {
            self._stored[place].seq: message and self._redacted(message) for place, message in changes.items()
        }
        await self._context.database.write(messages.replace, self._key, places)
        await self.load()

    async def new_inputs(self) -> list[Message]:
        if not await self._context.database.read(inputs.waiting, self._key):
            return []

        def write(connection: Connection) -> list[Stored]:
            taken = inputs.take(connection, self._key, self._run)
            if taken:
                told = self._redacted(user(self._meanwhile(taken)))
                messages.append(connection, self._key, self._run, self._turn, [told], time.time())
            return messages.all_of(connection, self._key, self._last)

        return self._take_up(await self._context.database.write(write))

    async def note_turn(self, number: int, answer: Answer) -> None:
        self._turn = await self._on_turn()
        now = time.monotonic()
        durations.TURN.observe(now - self._answered_at)
        self._answered_at = now
        structlog.contextvars.bind_contextvars(turn=self._turn)
        self._context.bus.woke("changes")

    # ---- after it

    async def unanswered(self) -> list[ToolCall]:
        """The calls of the last answer that have no result: what was interrupted."""
        answered = set()
        for stored in reversed(self._stored):
            message = stored.message
            if message.role == "tool":
                answered.add(message.tool_call_id)
            elif message.role == "assistant":
                return [call for call in message.tool_calls if call.id not in answered]
            else:
                break
        return []

    async def ended(self) -> Ended:
        """How the run ended whose turns are all taken."""
        last = self._stored[-1].message
        if last.role == "assistant" and not last.tool_calls:
            return Ended("answered", last.content, 0)
        return Ended("max_turns", "all turns are used up", 0)

    def _take_up(self, new: list[Stored]) -> list[Message]:
        self._stored += new
        self._last = new[-1].seq if new else self._last
        return [stored.message for stored in new]

    def _redacted(self, message: Message) -> Message:
        return redacted(message, self._context.redactor.redact)


class Progress(msgspec.Struct):
    """How far a run has come: seconds that it ran before this start, and turns in all."""

    before_seconds: float
    turns: int = 0
    since: float = msgspec.field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return self.before_seconds + time.monotonic() - self.since

    async def note(self, context: Context, run: str) -> None:
        await context.database.write(runs.note, run, running_seconds=round(self.seconds, 3), turns=self.turns)
