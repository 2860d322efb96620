"""The part of Fordjent between a stored delivery and a session that may run, beside a stand-in forge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import structlog
from sqlalchemy import Connection, func, select

from fordjent.config import Config, Forgejo, Provider, State, Webhook
from fordjent.context import Context, redactor_of
from fordjent.deciding.actions import Input
from fordjent.deciding.dispatcher import Dispatcher, Handler
from fordjent.forge.forge import Forge
from fordjent.intake import delivery
from fordjent.store import deliveries, inputs, sessions
from fordjent.store.database import Database
from fordjent.store.schema import events as events_table
from fordjent.store.sessions import Session
from tests.support.forge.server import StandIn

T = TypeVar("T")

REPOSITORY = "acme/widget"
BOT = "fordjent"
PATIENCE_SECONDS = 20.0


class Office:
    """alice may administer, bob may write, eve may read, and fordjent, the bot, may write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.forge = StandIn.start(folder / "forge")
        people = {"alice": "admin", "bob": "write", "eve": "read", BOT: "write", "ford-review": "write"}
        self.forge.repository(REPOSITORY, collaborators=people)
        self.forge.hook(REPOSITORY, "http://127.0.0.1:9/acp/v1/events", "s3cret-of-tests")
        self._stored = 0

    def config(self, **tables: Any) -> Config:
        return Config(
            webhook=Webhook(secret="s3cret-of-tests"),
            forgejo=tables.pop("forgejo", None) or Forgejo(url=self.forge.url, token=self.forge.token(BOT)),
            providers={"main": Provider(base_url="scripted:none", model="none")},
            state=State(dir=str(self.folder / "state")),
            **tables,
        )

    @asynccontextmanager
    async def open(self, **tables: Any) -> AsyncIterator[Context]:
        config = self.config(**tables)
        forge = Forge(self.forge.url, self.forge.token(BOT), requests_per_minute=100_000, retry_seconds=0.01)
        database = await asyncio.to_thread(Database.open, config.database_url)
        async with forge, database:
            yield Context(config, database, forge, redactor_of(config), structlog.get_logger())

    async def arrive(self, context: Context) -> int:
        """Store what the forge sent since; how many."""
        sent = await asyncio.to_thread(self.forge.delivered)
        fresh, self._stored = sent[self._stored :], len(sent)
        for one in fresh:
            await store(context, one.headers, one.body)
        return len(fresh)

    def lose(self) -> None:
        """What the forge sent since came to nobody."""
        self._stored = len(self.forge.delivered())

    async def decide(self, context: Context, handlers: dict[str, Handler] | None = None) -> None:
        """Everything that arrived, until nothing of it waits."""
        await self.arrive(context)
        async with dispatching(context, {} if handlers is None else handlers):
            await until(lambda: _none_waits(context))


async def store(context: Context, headers: Mapping[str, str], body: bytes) -> None:
    """One delivery, as the receiver would."""
    arrived = delivery.trusted({name.lower(): value for name, value in headers.items()}, body)
    await context.database.write(deliveries.accept, arrived, time.time())
    context.bus.woke("events")


@asynccontextmanager
async def dispatching(context: Context, handlers: dict[str, Handler] | None = None) -> AsyncIterator[None]:
    """A dispatcher at work."""
    stop = asyncio.Event()
    task = asyncio.create_task(Dispatcher(context, handlers).run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await holds():
            await asyncio.sleep(0.005)


async def _none_waits(context: Context) -> bool:
    return await in_state(context, "new") == 0


async def in_state(context: Context, state: str) -> int:
    """How many events are in it."""

    def count(connection: Connection) -> int:
        rows = select(func.count()).where(events_table.c.state == state)
        return connection.execute(rows).scalar() or 0

    return await context.database.read(count)


async def told(context: Context, key: str) -> list[Input]:
    """What waits for a session."""
    return await context.database.read(inputs.waiting, key)


async def session(context: Context, key: str) -> Session | None:
    return await context.database.read(sessions.get, key)
