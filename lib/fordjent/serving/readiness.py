"""`/readyz`: whether all is there that a session needs, and what is missing."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection, text

from harness.doctor.machine import NO_ROOM_BYTES
from harness.errors import Failure

if TYPE_CHECKING:
    from fordjent.config import Config, Provider
    from fordjent.context import Context

FRESH_SECONDS = 10.0
ASKING_SECONDS = 3.0
REFUSED = (401, 403)


class Missing(msgspec.Struct):
    """`what`: database | forge | roles.NAME.token | model NAME."""

    what: str
    why: str


class Readiness:
    """Asked anew every few seconds at most, however often somebody looks."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")
        self._missing: list[Missing] = []

    async def missing(self) -> list[Missing]:
        async with self._asking:
            if time.monotonic() - self._asked_at >= FRESH_SECONDS:
                found = await asyncio.gather(*(_why(what, ask) for what, ask in self._questions()))
                self._missing = [one for one in found if one]
                self._asked_at = time.monotonic()
                if self._missing:
                    self._context.log.warning(
                        "not ready", missing=[msgspec.to_builtins(one) for one in self._missing]
                    )
            return self._missing

    def _questions(self) -> list[tuple[str, Callable[[], Awaitable[str]]]]:
        config = self._context.config
        models = [
            (f"model {name}", partial(why_not_model, config, one)) for name, one in config.providers.items()
        ]
        tokens = [
            (f"roles.{name}.token", partial(self._token, role.token))
            for name, role in config.roles.items()
            if role.token
        ]
        return [("database", self._database), ("forge", self._forge), *tokens, *models]

    async def _database(self) -> str:
        """It answers, its writer is alive, and there is room for what comes in."""
        await self._context.database.read(_look)
        await self._context.database.write(_look)
        free = await asyncio.to_thread(shutil.disk_usage, self._context.config.state_dir)
        return "" if free.free >= NO_ROOM_BYTES else f"{free.free >> 20} MiB are free on its disk"

    async def _forge(self) -> str:
        from fordjent.forge import errors, server, users

        try:
            await server.version(self._context.forge)
            await users.me(self._context.forge)
        except errors.ForgeError as error:
            if error.status == 401:
                return "refuses the token"
            if error.status == 403:  # a scope that this question needs, and others may not
                return ""
            return f"answers {error.status}" if error.status else "cannot be reached"
        return ""

    async def _token(self, token: str) -> str:
        """Of a role with an account of its own; that the forge is away is told once, as `forge`."""
        from fordjent.forge import errors, users

        try:
            await users.me(self._context.forge.as_role(token))
        except errors.ForgeError as error:
            return "the forge refuses it" if error.status == 401 else ""
        return ""


async def _why(what: str, ask: Callable[[], Awaitable[str]]) -> Missing | None:
    try:
        async with asyncio.timeout(ASKING_SECONDS):
            why = await ask()
    except TimeoutError:
        why = f"does not answer within {ASKING_SECONDS:.0f} s"
    except Failure as failure:
        why = failure.message
    return Missing(what, why) if why else None


async def why_not_model(config: Config, provider: Provider) -> str:
    """Whether something answers there at all: each endpoint lists its models in its own way, or not at all."""
    import httpx2

    from fordjent.models.scripted import SCHEME

    if provider.base_url.startswith(SCHEME):
        script = config.folder(provider.base_url.removeprefix(SCHEME))
        return "" if await asyncio.to_thread(script.is_file) else "there is no such script"
    headers = {"Authorization": f"Bearer {provider.api_key}"} if provider.api_key else {}
    try:
        async with httpx2.AsyncClient(timeout=ASKING_SECONDS) as client:
            answer = await client.get(f"{provider.base_url.rstrip('/')}/models", headers=headers)
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return "cannot be reached"
    return "refuses the key" if answer.status_code in REFUSED else ""


def _look(connection: Connection) -> None:
    connection.execute(text("SELECT 1"))
