"""Many who send deliveries at once, as fast as they are answered: one thread, little of its own to do."""

from __future__ import annotations

import hashlib
import hmac
import selectors
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

RECORDED = Path(__file__).parent / "forge/recorded/deliveries"
EVENT = "issues"


def body() -> bytes:
    """A recorded delivery of an opened issue."""
    return (RECORDED / "001-issues-opened.body.json").read_bytes()


def signed(document: bytes, secret: str) -> str:
    return hmac.digest(secret.encode(), document, hashlib.sha256).hex()


def request(document: bytes, secret: str, delivery: str) -> bytes:
    """The bytes of one POST."""
    head = (
        "POST /acp/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"X-Forgejo-Delivery: {delivery}\r\nX-Forgejo-Event: {EVENT}\r\nX-Forgejo-Event-Type: {EVENT}\r\n"
        f"X-Forgejo-Signature: {signed(document, secret)}\r\nContent-Length: {len(document)}\r\n\r\n"
    )
    return head.encode() + document


@dataclass
class Sent:
    """`acknowledged`: the ids that were answered 200. `broke_off`: whether a connection ended before."""

    acknowledged: list[str] = field(default_factory=list)
    refused: list[bytes] = field(default_factory=list)
    seconds: float = 0.0
    broke_off: bool = False


def send(
    address: tuple[str, int], secret: str, ids: Iterable[str], *, connections: int = 32, seconds: float = 60.0
) -> Sent:
    """One delivery per id, over so many connections; ends when one breaks off."""
    document = body()
    waiting = iter(ids)
    sent = Sent()
    started = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        open_ones = [socket.create_connection(address, timeout=10) for _ in range(connections)]
        try:
            _send_all(selector, open_ones, waiting, document, secret, sent, started + seconds)
        except ConnectionError:
            sent.broke_off = True
        finally:
            for one in open_ones:
                one.close()
    sent.seconds = time.perf_counter() - started
    return sent


def _send_all(
    selector: selectors.BaseSelector,
    connections: list[socket.socket],
    waiting: Iterator[str],
    document: bytes,
    secret: str,
    sent: Sent,
    deadline: float,
) -> None:
    under_way: dict[socket.socket, str] = {}

    def next_on(one: socket.socket) -> None:
        delivery = next(waiting, None)
        if delivery is not None:
            under_way[one] = delivery
            one.sendall(request(document, secret, delivery))

    for one in connections:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(one, selectors.EVENT_READ)
        next_on(one)
    while under_way:
        if time.perf_counter() > deadline:
            raise TimeoutError("not all were answered in time")
        for key, _ in selector.select(1.0):
            ready = key.fileobj
            assert isinstance(ready, socket.socket)
            answer = ready.recv(65536)
            if not answer:
                raise ConnectionResetError
            if b"\r\n\r\n{" not in answer:
                answer += ready.recv(65536)
            delivery = under_way.pop(ready)
            if answer.startswith(b"HTTP/1.1 200"):
                sent.acknowledged.append(delivery)
            else:
                sent.refused.append(answer)
            next_on(ready)
