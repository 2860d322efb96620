"""What goes over a session's socket: one request and one answer, each a line of JSON, per connection."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from fordjent.models.messages import ToolSpec
from harness.errors import BadData

LONGEST = 4 * 1024 * 1024
"""Bytes of a line."""
SOCKET_PATH = 100
"""Bytes of a path that fit into the kernel's address of a socket (unix(7): 108)."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """`arguments`: JSON, as a model would write it."""

    do: Literal["call", "list"] = "call"
    name: str = ""
    arguments: str = "{}"


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """`text`, `failed`, `ends`: of a call; `tools`: what there is."""

    text: str = ""
    failed: bool = False
    ends: bool = False
    tools: list[ToolSpec] = []


def read_request(line: bytes) -> Request:
    """
    Raises:
        BadData: it is none.
    """
    try:
        return msgspec.json.decode(line, type=Request)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadData(f"not a request: {error}") from error


def encode(message: Request | Answer) -> bytes:
    return msgspec.json.encode(message) + b"\n"


@contextlib.contextmanager
def address(path: Path) -> Iterator[str]:
    """`path` as a socket's address: through a descriptor of its folder where it is too long for one."""
    if len(os.fsencode(path)) <= SOCKET_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def ask(path: Path, request: Request, timeout_seconds: float) -> Answer:
    """The server's answer.

    Raises:
        OSError: nobody listens there, or it did not answer in time.
        BadData: the request is too long, or the answer none.
    """
    line = encode(request)
    if len(line) > LONGEST:
        raise BadData(f"the arguments are longer than {LONGEST} bytes")
    with socket.socket(socket.AF_UNIX) as connection, address(path) as place:
        connection.settimeout(timeout_seconds)
        connection.connect(place)
        connection.sendall(line)
        received = bytearray()
        while not received.endswith(b"\n"):
            data = connection.recv(65536)
            if not data or len(received) > LONGEST:
                raise BadData("the server of the session ended in the middle of its answer")
            received += data
    try:
        return msgspec.json.decode(bytes(received), type=Answer)
    except msgspec.DecodeError as error:
        raise BadData(f"not an answer: {error}") from error
