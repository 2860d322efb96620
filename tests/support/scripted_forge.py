"""A forge that says what a test wrote down: for answers that no well-behaved server can be made to give."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
import msgspec

from fordjent.forge.forge import Forge

T = TypeVar("T")

TOKEN = "0123456789abcdef0123456789abcdef01234567"
API = "/api/v1"


@dataclass
class Says:
    """An answer; `body` is sent as JSON unless it is text."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Asked:
    """A request as it came; `path` as it stood on the wire, below the API's root, without query."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]
    host: str


class ScriptedForge(httpx2.AsyncBaseTransport):
    """What was written for a request is said in order; the last of it is said again."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._says: dict[tuple[str, str], list[Says | Exception]] = {}

    def on(self, method: str, path: str, *says: Says | Exception) -> ScriptedForge:
        self._says.setdefault((method, path), []).extend(says)
        return self

    def calls(self) -> list[str]:
        return [f"{asked.method} {asked.path}" for asked in self.asked]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        path = request.url.raw_path.decode("ascii").partition("?")[0].removeprefix(API)
        query = dict(request.url.params)
        document = msgspec.json.decode(body) if body else None
        self.asked.append(
            Asked(request.method, path, query, document, dict(request.headers), request.url.host)
        )
        says = self._says.get((request.method, path))
        if not says:
            raise AssertionError(f"nobody expected {request.method} {path}")
        said = says.pop(0) if len(says) > 1 else says[0]
        if isinstance(said, Exception):
            raise said
        text = said.body if isinstance(said.body, str) else msgspec.json.encode(said.body).decode()
        return httpx2.Response(said.status, headers=said.headers, text=text)


def talk(script: ScriptedForge, what: Callable[[Forge], Awaitable[T]], **options: Any) -> T:
    """What came of `what`, asked of that forge. It is tried again without waiting, unless said otherwise."""

    async def run() -> T:
        given = {"first_wait_seconds": 0.0, **options}
        async with Forge("https://forge.test", TOKEN, transport=script, **given) as forge:
            return await what(forge)

    return asyncio.run(run())
