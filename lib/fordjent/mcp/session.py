"""The session's socket, asked without blocking: who gives a question up, closes the line, and the session stops it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fordjent.models.messages import ToolSpec
from fordjent.tools import wire
from fordjent.tools.wire import Answer, Request
from harness.errors import BadData, TryLater

START_SECONDS = 10.0
"""Until a session has said what tools it has."""
CALL_SECONDS = 3600.0
"""Until a call must have come back: no tool takes longer."""


@dataclass(frozen=True)
class Session:
    """Whose socket is at `path`."""

    path: Path

    async def tools(self) -> list[ToolSpec]:
        """
        Raises:
            TryLater: its run has ended.
            BadData: what is there is no session.
        """
        return (await self._ask(Request(do="list"), START_SECONDS)).tools

    async def call(self, name: str, arguments: str) -> Answer:
        """What a tool says; `arguments`: JSON, as a model wrote them.

        Raises:
            TryLater: the run has ended.
            BadData: more than a tool takes.
        """
        return await self._ask(Request(name=name, arguments=arguments), CALL_SECONDS)

    async def _ask(self, request: Request, seconds: float) -> Answer:
        line = wire.encode(request)
        if len(line) > wire.LONGEST:
            raise BadData(f"the arguments are longer than {wire.LONGEST} bytes")
        try:
            async with asyncio.timeout(seconds):
                received = await self._exchange(line)
        except (OSError, TimeoutError) as error:
            why = getattr(error, "strerror", None) or "it does not answer"
            raise TryLater(f"the session at {self.path}: {why}", hint="its run has ended") from error
        except ValueError as error:
            raise BadData(f"an answer of more than {wire.LONGEST} bytes") from error
        if not received.endswith(b"\n"):
            raise TryLater("the session ended in the middle of its answer", hint="its run has ended")
        try:
            return msgspec.json.decode(received, type=Answer)
        except msgspec.DecodeError as error:
            raise BadData(f"not an answer: {error}") from error

    async def _exchange(self, line: bytes) -> bytes:
        with wire.address(self.path) as place:
            reader, writer = await asyncio.open_unix_connection(place, limit=wire.LONGEST)
        try:
            writer.write(line)
            await writer.drain()
            return await reader.readline()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
