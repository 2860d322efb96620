"""Output: bytes as they are into a pipe; on a terminal without what could control it."""

from __future__ import annotations

import re
import sys
from typing import TextIO

# C0 and C1 save tab and line end, and the marks that turn the direction of text (field case: hidden words).
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def say(text: str) -> None:
    """Write to standard output."""
    _write(sys.stdout, text)


def warn(line: str) -> None:
    """Write a line to standard error."""
    _write(sys.stderr, line + "\n")


def plain(text: str) -> str:
    """`text` without control characters; line ends and tabs stay."""
    return _CONTROLS.sub("", text)


def _write(stream: TextIO, text: str) -> None:
    data = (plain(text) if stream.isatty() else text).encode("utf-8", "surrogateescape")
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()
