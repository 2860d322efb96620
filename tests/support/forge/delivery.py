"""Sends webhooks as the forge does: signed in every dialect, one after the other, five seconds each, never again."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import queue
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlsplit

from tests.support.forge.state import Hook

TIMEOUT_SECONDS = 5.0
DIALECTS = ("Forgejo", "GitHub", "Gitea", "Gogs")


@dataclass
class Delivery:
    """One webhook: what was sent and what the receiver said. `status` 0: nobody answered."""

    hook: int
    url: str
    event: str
    event_type: str
    headers: dict[str, str]
    body: bytes
    payload: dict[str, Any]
    status: int = 0
    error: str = ""
    sent: threading.Event = field(default_factory=threading.Event)


def make(hook: Hook, event: str, event_type: str, payload: dict[str, Any]) -> Delivery:
    text = json.dumps(payload, ensure_ascii=False, indent=2)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    signed = text.encode()
    form = hook.content_type == "form"
    body = b"payload=" + quote_plus(text).encode() if form else signed
    key = hook.secret.encode()
    signature = hmac.new(key, signed, hashlib.sha256).hexdigest() if key else ""
    old = hmac.new(key, signed, hashlib.sha1).hexdigest() if key else ""
    delivery = str(uuid.uuid4())
    headers = {
        "Host": urlsplit(hook.url).netloc,
        "User-Agent": "Go-http-client/1.1",
        "Content-Length": str(len(body)),
        "Content-Type": "application/x-www-form-urlencoded" if form else "application/json",
    }
    for dialect in DIALECTS:
        headers[f"X-{dialect}-Delivery"] = delivery
        headers[f"X-{dialect}-Event"] = event
        headers[f"X-{dialect}-Event-Type"] = event_type
        if dialect != "GitHub":
            headers[f"X-{dialect}-Signature"] = signature
    headers["X-Hub-Signature"] = f"sha1={old}"
    headers["X-Hub-Signature-256"] = f"sha256={signature}"
    headers["Accept-Encoding"] = "gzip"
    if hook.authorization:
        headers["Authorization"] = hook.authorization
    return Delivery(hook.id, hook.url, event, event_type, headers, body, payload)


class Sender:
    """The background thread; `sent` holds every delivery in the order of the events."""

    def __init__(self) -> None:
        self.sent: list[Delivery] = []
        self._waiting: queue.Queue[Delivery | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="forge-webhooks", daemon=True)
        self._thread.start()

    def add(self, delivery: Delivery) -> None:
        self.sent.append(delivery)
        self._waiting.put(delivery)

    def again(self, delivery: Delivery) -> None:
        """The same bytes and delivery id once more, as a person's click on "redeliver" does."""
        copy = Delivery(**{**vars(delivery), "status": 0, "error": "", "sent": threading.Event()})
        self.add(copy)

    def wait(self, timeout_seconds: float = 30.0) -> None:
        """Until all that was added so far has been answered or given up."""
        for delivery in list(self.sent):
            if not delivery.sent.wait(timeout_seconds):
                raise AssertionError(f"{delivery.event_type} was not delivered in {timeout_seconds} s")

    def stop(self) -> None:
        self._waiting.put(None)
        self._thread.join(timeout=TIMEOUT_SECONDS + 1)

    def _run(self) -> None:
        while (delivery := self._waiting.get()) is not None:
            post(delivery)
            delivery.sent.set()


def post(delivery: Delivery) -> None:
    parts = urlsplit(delivery.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=TIMEOUT_SECONDS)
    try:
        connection.putrequest(
            "POST",
            parts.path + (f"?{parts.query}" if parts.query else ""),
            skip_host=True,
            skip_accept_encoding=True,
        )
        for name, value in delivery.headers.items():
            connection.putheader(name, value)
        connection.endheaders(delivery.body)
        answer = connection.getresponse()
        delivery.status = answer.status
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        delivery.error = f"{type(error).__name__}: {error}"
    finally:
        connection.close()
