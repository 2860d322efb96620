"""The tools of one run for programs of an agent's: a Unix socket in the run's folder, for this user only.

Token and policy stay here: what comes over the socket can do what the toolbox can, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from fordjent.agent.protocols import ToolResult
from fordjent.models.messages import ToolCall
from fordjent.tools import wire
from fordjent.tools.toolbox import Toolbox
from fordjent.tools.wire import Answer, Request
from harness.errors import BadData

CONNECTIONS = 16
PATIENCE_SECONDS = 30.0
"""Until a request must have come."""
PEER = struct.Struct("3i")
"""pid, uid, gid (unix(7), SO_PEERCRED)."""


@dataclass
class Listener:
    """`ended`: the result that is the end of the run's work, once there was one."""

    toolbox: Toolbox
    ended: ToolResult | None = None
    open: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        self.open += 1
        try:
            answer = await self._answer(reader, writer)
            if answer is not None:
                writer.write(wire.encode(answer))
                await asyncio.wait_for(writer.drain(), PATIENCE_SECONDS)
        except (OSError, TimeoutError):
            pass  # the other side has gone
        finally:
            self.open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Answer | None:
        if not _is_own(writer.get_extra_info("socket")):
            return None
        if self.open > CONNECTIONS:
            return Answer(f"Error: more than {CONNECTIONS} calls at once", failed=True)
        try:
            line = await asyncio.wait_for(reader.readline(), PATIENCE_SECONDS)
        except ValueError:
            return Answer(f"Error: a request is at most {wire.LONGEST} bytes", failed=True)
        if not line.endswith(b"\n"):
            return None
        try:
            request = wire.read_request(line)
        except BadData as error:
            return Answer(f"Error: {error.message}", failed=True)
        if request.do == "list":
            return Answer(tools=self.toolbox.specs())
        return await self._call(request, reader)

    async def _call(self, request: Request, reader: asyncio.StreamReader) -> Answer | None:
        """Do it; given up when the other side goes."""
        call = ToolCall(f"socket-{uuid.uuid4().hex}", request.name, request.arguments)
        doing = asyncio.create_task(self.toolbox.call(call))
        gone = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait([doing, gone], return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                return None
            result = doing.result()
        finally:
            for task in (doing, gone):
                task.cancel()
            await asyncio.gather(doing, gone, return_exceptions=True)
        if result.ends:
            self.ended = result
        return Answer(result.text, result.failed, result.ends)


@contextlib.asynccontextmanager
async def listen(toolbox: Toolbox, path: Path) -> AsyncIterator[Listener]:
    """Serve the toolbox at `path` while the context lasts; what runs at its end is cancelled.

    The folder is made for this user alone, and so is the socket. One that a kill left is replaced.

    Raises:
        OSError: nothing can be made there.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    path.unlink(missing_ok=True)
    listener = Listener(toolbox)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(listener.serve(reader, writer))
        listener.tasks.add(task)
        task.add_done_callback(listener.tasks.discard)

    server = await asyncio.start_unix_server(connected, sock=_bound(path), limit=wire.LONGEST)
    try:
        yield listener
    finally:
        server.close()
        for task in list(listener.tasks):
            task.cancel()
        await asyncio.gather(*listener.tasks, return_exceptions=True)
        path.unlink(missing_ok=True)


def _bound(path: Path) -> socket.socket:
    bound = socket.socket(socket.AF_UNIX)
    try:
        with wire.address(path) as place:
            bound.bind(place)
        path.chmod(0o600)
    except BaseException:
        bound.close()
        raise
    return bound


def _is_own(connection: socket.socket) -> bool:
    """Whether the other side is this user."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    _pid, uid, _gid = PEER.unpack(data)
    return bool(uid == os.geteuid())
