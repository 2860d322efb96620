"""An endpoint of the chat-completions protocol on loopback, that does with each request what it was told."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

MODEL = "stand-in"
LONGEST_SECONDS = 30.0

Json = dict[str, Any]


@dataclass(frozen=True)
class Does:
    """What one request gets. `way`: answer in full; cut off in the middle; hang; reset the connection; drip
    a byte now and then; or stay until `ModelEndpoint.release` is set, and answer then."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    way: Literal["answer", "cut", "hang", "reset", "drip", "held"] = "answer"


def says(
    text: str | None = "",
    *calls: tuple[str, Any],
    finish: str | None = None,
    usage: Json | None = None,
    way: Literal["answer", "held"] = "answer",
    **more: Any,
) -> Does:
    """A good answer. A call is a name and its arguments: an object, or the very text. `more`: other fields of
    the message."""
    message: Json = {"role": "assistant", "content": text, **more}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for number, (name, given) in enumerate(calls)
        ]
    reason = finish or ("tool_calls" if calls else "stop")
    counted = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110} if usage is None else usage
    answer: Json = {
        "id": "chat",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    if counted:
        answer["usage"] = counted
    return Does(body=json.dumps(answer).encode(), way=way)


def refuses(status: int, message: str = "no", **headers: str) -> Does:
    """An error, with headers such as Retry_After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Does(status, json.dumps({"error": {"message": message}}).encode(), named)


class ModelEndpoint:
    """Serves while it is entered; past the last of `does` the last one is repeated."""

    def __init__(self, *does: Does) -> None:
        self.does: Sequence[Does] = does
        self.requests: list[Json] = []
        self.headers: list[Mapping[str, str]] = []
        self.times: list[float] = []
        self.most_at_once = 0
        self.hung_up = threading.Event()
        """The client closed a connection that hung."""
        self.release = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def at_once(self) -> int:
        return self._at_once

    def __enter__(self) -> ModelEndpoint:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()

    def begin(self, body: Json, headers: Mapping[str, str]) -> Does:
        with self._lock:
            does = self.does[min(len(self.requests), len(self.does) - 1)]
            self.requests.append(body)
            self.headers.append(headers)
            self.times.append(time.monotonic())
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            return does

    def end(self) -> None:
        with self._lock:
            self._at_once -= 1


def _handler(endpoint: ModelEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            does = endpoint.begin(body, {name.lower(): value for name, value in self.headers.items()})
            ended = False
            try:
                if self.path != "/v1/chat/completions":
                    does = refuses(404, "no such path")
                if does.way == "held":
                    endpoint.release.wait(LONGEST_SECONDS)
                endpoint.end()  # before the answer: the client may ask again at once
                ended = True
                self._do(does)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                if not ended:
                    endpoint.end()

        def _do(self, does: Does) -> None:
            if does.way in ("hang", "reset"):
                if does.way == "hang":
                    self._wait_for_hang_up()
                else:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                self.close_connection = True
                return
            self.send_response(does.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(does.body)))
            for name, value in does.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if does.way == "cut":
                self.wfile.write(does.body[: len(does.body) // 2])
                self.close_connection = True
            elif does.way == "drip":
                for at in range(len(does.body)):
                    self.wfile.write(does.body[at : at + 1])
                    self.wfile.flush()
                    time.sleep(0.02)
            else:
                self.wfile.write(does.body)

        def _wait_for_hang_up(self) -> None:
            self.connection.settimeout(LONGEST_SECONDS)
            with suppress(OSError):
                if self.connection.recv(1) == b"":
                    endpoint.hung_up.set()

        def log_message(self, *_: object) -> None:
            pass

    return Handler
