"""Something that webhooks can be sent to: keeps what came, and answers what it is told to."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs

SIGNED = ("x-forgejo-signature", "x-gitea-signature", "x-gogs-signature")


@dataclass
class Received:
    """One delivery. `signed` is what the signatures are over: of a form, the value of `payload`."""

    headers: dict[str, str]
    body: bytes
    signed: bytes
    payload: dict[str, Any]

    @classmethod
    def read(cls, headers: dict[str, str], body: bytes) -> Received:
        headers = {name.lower(): value for name, value in headers.items()}
        form = headers["content-type"] == "application/x-www-form-urlencoded"
        signed = parse_qs(body.decode())["payload"][0].encode() if form else body
        return cls(headers, body, signed, json.loads(signed))

    @property
    def event(self) -> str:
        return self.headers["x-forgejo-event"]

    @property
    def event_type(self) -> str:
        return self.headers["x-forgejo-event-type"]


def signatures_fit(delivery: Received, secret: str) -> bool:
    """All of them, as the forge signs."""
    new = hmac.new(secret.encode(), delivery.signed, hashlib.sha256).hexdigest()
    old = hmac.new(secret.encode(), delivery.signed, hashlib.sha1).hexdigest()
    return (
        all(delivery.headers[name] == new for name in SIGNED)
        and delivery.headers["x-hub-signature-256"] == f"sha256={new}"
        and delivery.headers["x-hub-signature"] == f"sha1={old}"
    )


@dataclass
class HookReceiver:
    """`status`: what it answers. `seconds`: how long it waits before."""

    status: int = 200
    seconds: float = 0.0
    received: list[Received] = field(default_factory=list)

    def __enter__(self) -> HookReceiver:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append(Received.read(dict(self.headers.items()), body))
                time.sleep(receiver.seconds)
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/acp/v1/events"
