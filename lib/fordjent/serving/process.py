"""The server from its start to its end: one process, one event loop, one for each state folder.

TERM or INT: no more deliveries are taken (503), what runs gets `sessions.shutdown_grace`, the rest goes
on after the next start. Another one ends it at once, which loses nothing either.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import uvicorn

from fordjent.config import Config, Server
from fordjent.context import Context
from fordjent.intake.receiver import Receiver
from fordjent.intake.rejections import Rejections
from fordjent.serving import app
from fordjent.sessions.cli_agents import adapter_of
from fordjent.sessions.ending import BUILTIN
from fordjent.tools import permission
from harness import config as toml
from harness import lock
from harness.errors import EX_OK, EX_SOFTWARE, BadConfig, TryLater, of_disk
from harness.redaction import Redactor

CONNECTIONS = 512
"""More at once are answered 503."""
ENDING_SECONDS = 5.0
"""For what was cancelled, and for answers that are being sent."""
OVERTIME_SECONDS = 2.0
"""After the grace, for a part that itself cancels what it runs then."""


class Part(Protocol):
    """What works beside the receiver. Ends soon after `stop` is set, at a place to go on from."""

    async def run(self, stop: asyncio.Event) -> None: ...


MakePart = Callable[[Context], Part]


async def serve(
    config: Config, parts: Sequence[MakePart] | None = None, *, redactor: Redactor | None = None
) -> int:
    """Until it is told to end; the exit code. `redactor`: the log's, which learns secrets with the rest.

    Raises:
        Busy: another server works in this state folder.
        BadConfig: the address, the folder or the database cannot be used, a role has a tool that is none,
            or there is no such agent.
    """
    permission.check(config)
    if config.sessions.agent_type != BUILTIN:
        adapter_of(config)
    try:
        config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise of_disk(error) or BadConfig(
            f"{config.path}: state.dir: {config.state_dir}: {error.strerror}"
        ) from error
    with lock.held(config.state_dir / "serve.lock", what=f"{config.state_dir}"):
        with toml.naming(config.path, "server"):
            listener = _listen(config.server)
        async with Context.open(config, redactor) as context:
            made = [make(context) for make in (_all_parts() if parts is None else parts)]
            return await _Process(context, listener, made).run()


def _all_parts() -> list[MakePart]:
    from fordjent.deciding.dispatcher import Dispatcher
    from fordjent.memory.keeping import Keeper
    from fordjent.operations.reloading import Reloading
    from fordjent.sessions.timers import Timers
    from fordjent.sessions.worker import Worker

    return [Dispatcher, Worker, Timers, Keeper, Reloading]


class _Process:
    def __init__(self, context: Context, listener: socket.socket, parts: Sequence[Part]) -> None:
        self._context = context
        self._listener = listener
        self._parts = parts
        self._stop = asyncio.Event()
        self._rejections = Rejections(context.database)
        self._receiver = Receiver(context, self._rejections)

    async def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)
        server = self._server()
        http = asyncio.create_task(server.serve(sockets=[self._listener]), name="http")
        await asyncio.wait(
            [http, asyncio.create_task(server.listening.wait())], return_when="FIRST_COMPLETED"
        )
        self._context.log.info("listening", url=_url(self._listener), pid=os.getpid())
        works = [asyncio.create_task(part.run(self._stop), name=type(part).__name__) for part in self._parts]
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait([http, *works, stopped], return_when="FIRST_COMPLETED")
        was_asked = self._stop.is_set()
        await self._end(works)
        server.should_exit = True
        await asyncio.wait([http], timeout=ENDING_SECONDS)
        await self._rejections.written()
        failed = [work for work in (http, *works) if self._has_failed(work)]
        self._context.log.info("ended")
        return EX_OK if was_asked and not failed else EX_SOFTWARE

    async def _end(self, works: Sequence[asyncio.Task[None]]) -> None:
        """What runs gets its time, and is cancelled after it."""
        self._receiver.stopping = True
        self._stop.set()
        for name in ("events", "sessions", "changes"):
            self._context.bus.woke(name)
        if not works:
            return
        grace = toml.seconds(self._context.config.sessions.shutdown_grace)
        self._context.log.info("ending", grace_seconds=grace)
        _, running = await asyncio.wait(works, timeout=grace + OVERTIME_SECONDS)
        for work in running:
            self._context.log.warning("cancelled", part=work.get_name())
            work.cancel()
        if running:
            await asyncio.wait(running, timeout=ENDING_SECONDS)

    def _has_failed(self, work: asyncio.Task[None]) -> bool:
        """Whether it ended by a fault of ours, which is said."""
        if not work.done() or work.cancelled() or work.exception() is None:
            return False
        self._context.log.error("a part has failed", part=work.get_name(), exc_info=work.exception())
        return True

    def _on_signal(self, number: signal.Signals) -> None:
        if self._stop.is_set():
            self._context.log.warning("ended at once", signal=number.name)
            os._exit(128 + number)
        self._context.log.info("told to end", signal=number.name)
        self._receiver.stopping = True
        self._stop.set()

    def _server(self) -> _Http:
        pages = app.make(self._context, self._receiver, self._rejections, self._stop)
        return _Http(
            uvicorn.Config(
                pages,
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # anybody could claim to be at this machine
                limit_concurrency=CONNECTIONS,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=int(ENDING_SECONDS) - 1,
            )
        )


class _Http(uvicorn.Server):
    """Leaves the signals to us, and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listen(server: Server) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
        return socket.create_server((server.host, server.port), family=family, backlog=1024)
    except OSError as error:
        where = f"{server.host}:{server.port}: {error.strerror or error}"
        if of_disk(error):
            raise BadConfig(where, hint="take a port over 1023 as server.port") from error
        if error.errno != errno.EADDRINUSE:
            raise BadConfig(
                where, hint="server.host is an address of this machine, or 0.0.0.0 for all"
            ) from error
        hint = "another program has it: end that one, or take another server.host and server.port"
        raise TryLater(where, hint=hint, code="address_in_use") from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
