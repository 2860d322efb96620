"""The application without a process around it: asked from wherever a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from fordjent.context import Context
from fordjent.intake.receiver import Receiver
from fordjent.intake.rejections import Rejections
from fordjent.serving import app
from tests.support import context

Ask = Callable[..., httpx2.Response]


@pytest.fixture
def ask(place: Path) -> Ask:
    """`ask(path, server="admin_token = …", client="10.0.0.9", method=…, prepare=…, …)`: one request."""

    def asked(
        path: str,
        *,
        server: str = "",
        client: str = "127.0.0.1",
        host: str = "127.0.0.1:8080",
        method: str = "GET",
        prepare: Callable[[Context], None] = lambda _context: None,
        **more: object,
    ) -> httpx2.Response:
        async def scenario(shared: Context) -> httpx2.Response:
            rejections = Rejections(shared.database)
            made = app.make(shared, Receiver(shared, rejections), rejections, asyncio.Event())
            transport = httpx2.ASGITransport(app=made, client=(client, 50000))
            async with httpx2.AsyncClient(transport=transport, base_url=f"http://{host}") as browser:
                return await browser.request(method, path, **more)  # type: ignore[arg-type]

        with context.opened(place, server=server) as shared:
            prepare(shared)
            return asyncio.run(scenario(shared))

    return asked
