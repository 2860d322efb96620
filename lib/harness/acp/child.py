"""The agent's process: started in a group of its own, and ended with all of that group."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from harness import process
from harness.acp.frames import LINE_LIMIT_BYTES
from harness.errors import Missing

_FAREWELL_SECONDS = 2.0  # from the end of its stdin to TERM, and from there to KILL
_LOOK_SECONDS = 0.05


class Child:
    """A started agent with its pipes."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: SubprocessStreamProtocol) -> None:
        assert protocol.stdin and protocol.stdout
        self.pid = transport.get_pid()
        self.stdin = protocol.stdin
        self.stdout = protocol.stdout
        self._transport = transport

    @property
    def exit_code(self) -> int | None:
        return self._transport.get_returncode()

    async def ended(self) -> None:
        """Wait for its end. asyncio's own wait() waits for the end of its pipes too, which a tool may hold."""
        while self.exit_code is None:
            await asyncio.sleep(_LOOK_SECONDS)

    async def ends(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""
        await asyncio.wait({asyncio.ensure_future(self.ended())}, timeout=seconds)
        return self.exit_code is not None

    def kill(self) -> None:
        process.kill_group(self.pid)

    async def end(self) -> None:
        """The end of its stdin says that it is over; then TERM, then KILL, also for what it left in its group."""
        self.stdin.close()
        if not await self.ends(_FAREWELL_SECONDS):
            process.kill_group(self.pid, signal.SIGTERM)
            await self.ends(_FAREWELL_SECONDS)
        self.kill()
        await self.ends(_FAREWELL_SECONDS)
        self._transport.close()


@asynccontextmanager
async def started(command: Sequence[str]) -> AsyncIterator[Child]:
    """The agent, which dies with us. In a group of its own, so that a stop signal for our group
    reaches us alone, and the agent is cancelled through the protocol.

    Raises:
        Missing: there is no such command.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=LINE_LIMIT_BYTES, loop=loop),
            *command,
            stderr=None,
            process_group=0,
            preexec_fn=partial(process.die_with_parent, os.getpid(), signal.SIGKILL),
        )
    except (FileNotFoundError, PermissionError) as error:
        raise Missing(f"{command[0]}: {error.strerror}", hint=f"install {command[0]}") from error
    child = Child(transport, protocol)
    try:
        yield child
    finally:
        await child.end()
