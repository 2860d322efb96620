"""The pages and who may see them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ent_agent.config import Config
from ent_agent.dashboard import seen
from ent_agent.dashboard.seen import Overview
from ent_agent.finalization import secrecy
from harness.pages.guard import Guard
from harness.pages.rendering import Pages

FRESH_SECONDS = 2.0
LINKS = (("/", "now"),)


def make(config: Config, token: str = "") -> Starlette:
    """`token` "": only who sits at this machine may look."""
    pages = Pages(Path(__file__).parent, "ent-agent", LINKS)
    guard = Guard(
        token, pages, cookie="ent-agent", home="/", asks_for="the token that `invoke dashboard` printed"
    )
    views = _Views(config, pages, guard)
    return Starlette(
        routes=[
            Route("/", guard.admitting(views.now)),
            Route("/runs/{run}", guard.admitting(views.run)),
            Route("/login", guard.login, methods=["GET", "POST"]),
            Route("/logout", guard.acting(guard.logout), methods=["POST"]),
        ]
    )


class _Views:
    def __init__(self, config: Config, pages: Pages, guard: Guard) -> None:
        self._config = config
        self._pages = pages
        self._guard = guard
        self._redact = secrecy.redactor(config).redact
        self._looking = asyncio.Lock()
        self._looked_at = float("-inf")
        self._found: Overview | None = None

    async def now(self, request: Request) -> Response:
        return self._page(request, "now.html", found=await self._overview())

    async def run(self, request: Request) -> Response:
        found = await asyncio.to_thread(seen.run, self._config, request.path_params["run"])
        if found is None:
            return JSONResponse({"error": "there is no such run"}, status_code=404)
        return self._page(request, "run.html", run=found[0], printed=found[1])

    async def _overview(self) -> Overview:
        """However many look, the folder is read every few seconds at most."""
        async with self._looking:
            if self._found is None or time.monotonic() - self._looked_at >= FRESH_SECONDS:
                self._found = await asyncio.to_thread(seen.overview, self._config)
                self._looked_at = time.monotonic()
            return self._found

    def _page(self, request: Request, template: str, **values: Any) -> Response:
        form_token = self._guard.form_token(request)
        return self._pages.page(
            template,
            here=request.url.path,
            leaving=form_token if self._guard.asks else "",
            clean=self._redact,
            kind_of=seen.kind_of,
            **values,
        )
