"""`/acp/v1/stream`: what happens, as server-sent events; who comes back with Last-Event-ID misses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import msgspec
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fordjent.store import changes
from fordjent.store.changes import Place

if TYPE_CHECKING:
    from fordjent.context import Context

STREAMS = 64
LOOK_SECONDS = 2.0
"""What other processes and careless writers of ours do not announce is seen that late."""


class Stream:
    """`heartbeat_seconds`: how often an idle stream says that it is alive."""

    def __init__(self, context: Context, stopping: asyncio.Event, *, heartbeat_seconds: float = 15.0) -> None:
        self._context = context
        self._stopping = stopping
        self._heartbeat_seconds = heartbeat_seconds
        self._open = 0

    async def answer(self, request: Request) -> Response:
        if self._open >= STREAMS:
            return JSONResponse({"error": f"{STREAMS} streams are open"}, status_code=503)
        place = Place.parse(request.headers.get("last-event-id", ""))
        if place is None:
            place = await self._context.database.read(changes.end)
        return EventSourceResponse(
            self._events(place), ping=self._heartbeat_seconds, headers={"Cache-Control": "no-store"}
        )

    async def _events(self, place: Place) -> AsyncIterator[ServerSentEvent]:
        self._open += 1
        try:
            seen: frozenset[int] = frozenset()
            yield ServerSentEvent(comment="open", id=str(place), retry=3000)
            while not self._stopping.is_set():
                count = self._context.bus.count("changes")
                found = await self._context.database.read(changes.after, place, seen)
                for one in found.happened:
                    data = msgspec.json.encode(one.data).decode("utf-8")
                    yield ServerSentEvent(
                        self._context.redactor.redact(data), event=one.kind, id=str(one.place)
                    )
                place, seen = found.place, found.seen
                if not found.happened:
                    await self._context.bus.wait("changes", LOOK_SECONDS, count)
        finally:
            self._open -= 1
