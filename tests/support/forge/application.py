"""The HTTP side: who asks, what for, whether that exists, and the answer in bytes."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import struct
import time
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tests.support.forge import git_http, scopes, swagger
from tests.support.forge.calls import HANDLERS, Answer, Call
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.state import User

if TYPE_CHECKING:
    from tests.support.forge.server import StandIn

API = "/api/v1"
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass
class Request:
    """One line of the log. `status` 0: the connection was broken on purpose."""

    method: str
    path: str
    query: str
    user: str
    body: Any
    status: int = 0
    at: float = 0.0

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"{self.user or '-'} {self.method} {self.path}{query} {self.status}"


class Application:
    """An ASGI application; the work is done in threads, one request of the API at a time."""

    def __init__(self, forge: StandIn, threads: ThreadPoolExecutor) -> None:
        self.forge, self.threads = forge, threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        query = scope["query_string"].decode("latin-1")
        fault = self.forge.faults.next(scope["method"], path)
        if fault and fault.kind == "reset":
            self.forge.log.append(Request(scope["method"], path, query, "", None, at=time.monotonic()))
            _break(send)
            return
        work = asyncio.get_running_loop().run_in_executor
        if fault and isinstance(fault.kind, int):
            refusal = Refusal(fault.kind, fault.message)
            if fault.retry_after:
                refusal.headers["Retry-After"] = fault.retry_after
            answer = self._refused(refusal)
            self.forge.log.append(
                Request(scope["method"], path, query, "", None, fault.kind, time.monotonic())
            )
        else:
            answer = await work(self.threads, self._answer, scope["method"], path, query, headers, body)
        if fault and fault.kind == "lost":
            _break(send)
            return
        if fault and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        content = b"" if answer.empty else answer.text if answer.text is not None else _json(answer.body)
        await send(
            {"type": "http.response.start", "status": answer.status, "headers": _headers(answer, content)}
        )
        await send({"type": "http.response.body", "body": content})

    def _answer(self, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Answer:
        user, secret, by_password = self.forge.signed_in(headers.get("authorization", ""))
        request = Request(method, path, query, user.login if user else "", None, at=time.monotonic())
        self.forge.log.append(request)
        try:
            wait = self.forge.faults.seconds_to_wait(request.user)
            if wait:
                raise Refusal(429, "Too many requests", Retry_After=str(math.ceil(wait)))
            if headers.get("authorization") and user is None:
                if git_http.is_git(path):
                    raise git_http.unauthorized()
                raise Refusal(401, "user does not exist [uid: 0, name: ]")
            if git_http.is_git(path):
                answer = git_http.serve(
                    self.forge.world, self.forge.events, user, method, path, query, headers, body
                )
            else:
                request.body = _parsed(headers, body)
                answer = self._api(method, path, query, user, secret, by_password, request.body)
        except Refusal as refusal:
            answer = self._refused(refusal)
        request.status = answer.status
        return answer

    def _api(
        self,
        method: str,
        path: str,
        query: str,
        user: User | None,
        secret: str | None,
        by_password: bool,
        body: Any,
    ) -> Answer:
        inside = path.removeprefix(API)
        operation = swagger.find(method, inside) if path.startswith(API) else None
        if operation is None:
            self.forge.strange.append(f"{method} {path}: not in the API")
            raise not_found()
        asked = dict(parse_qsl(query, keep_blank_values=True))
        if said := operation.strange(asked, body):
            self.forge.strange.append(said)
            raise Refusal(422, said)
        handler = HANDLERS.get((method, operation.template))
        if handler is None:
            self.forge.strange.append(f"{method} {operation.template}: the stand-in cannot do this yet")
            raise Refusal(501, f"the stand-in has no {method} {operation.template}")
        world = self.forge.world
        with world.lock:
            if secret:
                scopes.check(world.tokens[secret], method, operation.template)
            fields = body if isinstance(body, dict) else {}
            call = Call(
                world, self.forge.events, user, inside, operation.arguments, asked, fields, by_password
            )
            return handler(call)

    def _refused(self, refusal: Refusal) -> Answer:
        return Answer(refusal.status, refusal.body(self.forge.url), dict(refusal.headers))


def _parsed(headers: dict[str, str], body: bytes) -> Any:
    """The JSON of a request; 422 for what is none."""
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError as error:
        raise Refusal(422, f"[]: Deserialization: {error}") from None


def _json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode() + b"\n"


def _headers(answer: Answer, content: bytes) -> list[tuple[bytes, bytes]]:
    headers = dict(answer.headers)
    if not answer.empty and answer.text is None:
        headers["Content-Type"] = "application/json;charset=utf-8"
    if answer.status != 204:
        headers["Content-Length"] = str(len(content))
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def _break(send: Send) -> None:
    """Resets the connection: the cycle behind `send` holds uvicorn's transport."""
    transport = send.__self__.transport  # type: ignore[attr-defined]
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
