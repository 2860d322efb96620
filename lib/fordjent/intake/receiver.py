"""`POST /acp/v1/events`: what the forge sends is on disk before it is told so.

Bare ASGI, since everything that the forge sends comes through here, and it waits five seconds
for an answer and never sends again.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec
from starlette.types import Receive, Scope, Send

from fordjent import durations
from fordjent.intake import delivery
from fordjent.intake.delivery import Delivery, Rejected
from fordjent.intake.rejections import Rejections
from fordjent.intake.storing import Storing
from fordjent.store.deliveries import Accepted
from harness.errors import Failure

if TYPE_CHECKING:
    from fordjent.context import Context

PATH = "/acp/v1/events"
BODY_SECONDS = 30.0
"""A body that takes longer is given up."""
LINGER_SECONDS = 1.0


class Answer(msgspec.Struct, omit_defaults=True):
    """`status`: accepted | duplicate | ignored, or rejected with `error`."""

    status: str
    event_id: str = ""
    error: str = ""

    @classmethod
    def of(cls, delivery: Delivery, accepted: Accepted) -> Answer:
        status = "duplicate" if accepted.duplicate else "ignored" if delivery.ignored else "accepted"
        return cls(status, accepted.event_id)


class Receiver:
    """An ASGI application of one path. `stopping` is set when no more is taken."""

    def __init__(self, context: Context, rejections: Rejections) -> None:
        self._context = context
        self._rejections = rejections
        self._storing = Storing(context.database)
        self._secret = context.config.webhook.secret.encode("utf-8", "surrogateescape")
        self._limit = context.config.server.max_body_bytes
        self.stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        try:
            if self.stopping:
                raise Rejected(503, "shutting down")
            if scope["method"] != "POST":
                raise Rejected(405, "only POST")
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            body = await self._body(headers, receive)
            answer = await self._store(delivery.read(headers, body, self._secret))
            await _answer(send, 200, answer)
            durations.INTAKE.observe(time.perf_counter() - began)
        except Rejected as rejected:
            self._rejections.count(rejected.status)
            self._context.log.info("delivery rejected", status=rejected.status, why=rejected.why)
            await _reject(receive, send, rejected)
        except Failure as failure:  # a full disk: the forge shows it as failed, and a person sends it again
            self._context.log.error("delivery not stored", why=failure.message, hint=failure.hint)
            await _reject(receive, send, Rejected(503, "cannot be stored now"))

    async def _store(self, arrived: Delivery) -> Answer:
        safe = msgspec.structs.replace(arrived, body=self._context.redactor.without_known(arrived.body))
        answer = Answer.of(arrived, await self._storing.store(safe))
        self._context.bus.woke("changes")
        if answer.status == "accepted":
            self._context.bus.woke("events")
        return answer

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        """
        Raises:
            Rejected: 413 as soon as it is known to be too long, 408, 400 where it breaks off.
        """
        announced = headers.get("content-length", "")
        if announced.isdigit() and int(announced) > self._limit:
            raise Rejected(413, f"more than {self._limit} bytes")
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await self._read(receive)
        except TimeoutError as error:
            raise Rejected(408, f"not sent within {BODY_SECONDS:.0f} s") from error

    async def _read(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        length = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Rejected(400, "the connection broke off")
            part = message.get("body", b"")
            length += len(part)
            if length > self._limit:
                raise Rejected(413, f"more than {self._limit} bytes")
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts) if len(parts) > 1 else part


async def _answer(send: Send, status: int, answer: Answer, *, ends: bool = False) -> bytes:
    """Send it, or with `ends` all but its end."""
    body = msgspec.json.encode(answer)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if ends:
        headers.append((b"connection", b"close"))
    if status == 405:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": ends})
    return body


async def _reject(receive: Receive, send: Send, rejected: Rejected) -> None:
    await _answer(send, rejected.status, Answer("rejected", error=rejected.why), ends=True)
    try:
        async with asyncio.timeout(LINGER_SECONDS):  # closed on unread bytes, the answer itself would be lost
            while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                pass
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})
