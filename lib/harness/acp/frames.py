"""The lines between us and the agent: JSON-RPC messages on its stdin and stdout.

Stands where the library has its own transport, which keeps a line of any length in memory
and gives up the whole connection for one frame that is not an object.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

LINE_LIMIT_BYTES = 50_000_000


class Frames:
    """A transport for `acp.connection.Connection`.

    `dropped(bytes, why)` hears of each line that was left out.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        dropped: Callable[[int, str], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._dropped = dropped

    async def send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None: the agent has closed its stdout."""
        while line := await self._line():
            message = _message(line)
            if message is not None:
                return message
            if line.strip():
                self._dropped(len(line), "not a JSON-RPC message")
        return None

    async def close(self) -> None:
        """Nothing to do: the pipes end with the process."""

    async def _line(self) -> bytes:
        """The next line that is not longer than the reader's limit; empty at the end."""
        passed = 0
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as overrun:
                passed += len(await self._reader.readexactly(overrun.consumed))
                continue
            except asyncio.IncompleteReadError as end:
                line = end.partial
            if not passed:
                return line
            self._dropped(passed + len(line), "longer than the limit of a line")
            passed = 0


def _message(line: bytes) -> dict[str, Any] | None:
    """The line as a message in the shape that the library relies on, or None."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("id"), int | str | None):
        return None
    if "error" in message and not isinstance(message["error"], dict):
        message["error"] = {"message": str(message["error"])}
    return message
