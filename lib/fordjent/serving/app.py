"""Every path of the server."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fordjent.intake import receiver
from fordjent.intake.receiver import Receiver
from fordjent.serving import metrics
from fordjent.serving.pages import of_fordjent
from fordjent.serving.pages.views import Views
from fordjent.serving.readiness import Readiness
from fordjent.serving.stream import Stream
from fordjent.store import statistics
from harness.pages.guard import Action, Endpoint, Guard

if TYPE_CHECKING:
    from fordjent.context import Context
    from fordjent.intake.rejections import Rejections


class App:
    """What comes from the forge goes straight to the receiver, all else through Starlette."""

    def __init__(self, taking: Receiver, pages: ASGIApp) -> None:
        self._taking = taking
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_delivery = scope["type"] == "http" and scope["path"] == receiver.PATH
        await (self._taking if is_delivery else self._pages)(scope, receive, send)


def make(
    context: Context,
    taking: Receiver,
    rejections: Rejections,
    stopping: asyncio.Event,
    *,
    heartbeat_seconds: float = 15.0,
) -> App:
    server = context.config.server
    guard = Guard(
        server.admin_token,
        of_fordjent(),
        cookie="fordjent",
        home="/admin",
        asks_for="server.admin_token of config.toml",
        is_secure=server.public_url.startswith("https:"),
    )
    pages, views = Views(context, rejections, guard), _Views(context, rejections, stopping)
    stream = Stream(context, stopping, heartbeat_seconds=heartbeat_seconds)
    session = "/trace/{owner}/{repo}/{kind}/{number}"
    shown: dict[str, Endpoint] = {
        "/": pages.home,
        "/dashboard": pages.home,
        "/admin": pages.admin,
        "/admin/": pages.home,
        "/sessions": pages.sessions,
        "/activity": pages.activity,
        session: pages.trace,
        session + "/changes/{run}": pages.change,
        "/status": views.status,
        "/metrics": views.metrics,
        "/acp/v1/stream": stream.answer,
    }
    done: dict[str, Action] = {
        "/admin/pause": pages.pause,
        "/admin/resume": pages.resume,
        session + "/{what}": pages.steer,
        "/logout": guard.logout,
    }
    return App(
        taking,
        Starlette(
            routes=[
                Route("/healthz", views.health),
                Route("/readyz", views.ready),
                Route("/login", guard.login, methods=["GET", "POST"]),
                *(Route(path, guard.admitting(endpoint)) for path, endpoint in shown.items()),
                *(Route(path, guard.acting(action), methods=["POST"]) for path, action in done.items()),
            ]
        ),
    )


class _Views:
    def __init__(self, context: Context, rejections: Rejections, stopping: asyncio.Event) -> None:
        self._context = context
        self._rejections = rejections
        self._stopping = stopping
        self._readiness = Readiness(context)

    async def health(self, _request: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(self, _request: Request) -> Response:
        if self._stopping.is_set():
            return _json({"status": "shutting down", "missing": []}, 503)
        missing = await self._readiness.missing()
        return _json(
            {"status": "not ready" if missing else "ready", "missing": missing}, 503 if missing else 200
        )

    async def status(self, request: Request) -> Response:
        await self._rejections.written()
        since = _since(request.query_params.get("since", ""))
        return _json(await self._context.database.read(statistics.status, time.time(), since))

    async def metrics(self, _request: Request) -> Response:
        await self._rejections.written()
        return Response(await self._context.database.read(metrics.text), media_type=metrics.CONTENT_TYPE)


def _json(value: Any, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(value), status, {"Cache-Control": "no-store"}, media_type="application/json"
    )


def _since(text: str) -> float:
    """Seconds since 1970 of an RFC 3339 time; the beginning where it is none."""
    try:
        return datetime.fromisoformat(text.replace(" ", "+")).timestamp() if text else 0.0
    except (ValueError, OverflowError):
        return 0.0
