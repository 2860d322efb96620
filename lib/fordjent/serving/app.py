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
from fordjent.serving import metrics, pages
from fordjent.serving.guard import Guard
from fordjent.serving.readiness import Readiness
from fordjent.serving.stream import Stream
from fordjent.session_key import SessionKey
from fordjent.store import deliveries, statistics, traces
from harness.errors import BadData

if TYPE_CHECKING:
    from fordjent.context import Context
    from fordjent.intake.rejections import Rejections

SHOWN = 30


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
    guard = Guard(context.config.server)
    views = _Views(context, rejections, stopping)
    stream = Stream(context, stopping, heartbeat_seconds=heartbeat_seconds)
    guarded = {
        "/status": views.status,
        "/metrics": views.metrics,
        "/activity": views.activity,
        "/admin": views.admin,
        "/trace/{owner}/{repo}/{kind}/{number}": views.trace,
        "/acp/v1/stream": stream.answer,
    }
    return App(
        taking,
        Starlette(
            routes=[
                Route("/healthz", views.health),
                Route("/readyz", views.ready),
                Route("/login", guard.login, methods=["GET", "POST"]),
                *(Route(path, guard.admitting(endpoint)) for path, endpoint in guarded.items()),
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

    async def activity(self, _request: Request) -> Response:
        arrived = await self._context.database.read(deliveries.last, SHOWN)
        changes = await self._context.database.read(statistics.changes, SHOWN)
        return pages.page("activity.html", deliveries=arrived, changes=changes)

    async def admin(self, _request: Request) -> Response:
        await self._rejections.written()
        found = await self._context.database.read(statistics.status, time.time())
        tables = [
            (heading, list(msgspec.to_builtins(values).items()))
            for heading, values in (
                ("Deliveries", found.deliveries),
                ("Sessions", found.sessions),
                ("Queue", found.queue),
                ("Since the beginning", found.metrics),
            )
        ]
        spent = [
            (f"{one.provider} {one.model}", f"{one.calls} calls, {one.cost_usd} US dollars")
            for one in found.by_model
        ]
        return pages.page("admin.html", tables=[*tables, ("Models", spent)])

    async def trace(self, request: Request) -> Response:
        try:
            key = SessionKey.parse(
                "/".join(request.path_params[name] for name in ("owner", "repo", "kind", "number"))
            )
        except BadData as error:
            return _json({"error": error.message, "hint": error.hint}, 400)
        trace = await self._context.database.read(traces.of, str(key), self._context.redactor)
        if trace is None:
            return _json({"error": f"there is no session {key}"}, 404)
        return pages.page("trace.html", trace=trace)


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
