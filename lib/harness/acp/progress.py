"""What the command prints: one JSON object a line, each bounded, text merged to lines worth reading."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any, BinaryIO

import msgspec

from harness import cutting

TEXT_LIMIT = 4_000
"""Characters of a text in a line; of a longer one the two ends stay."""
FLUSH_SECONDS = 1.0
"""How long a text that is still growing waits to be shown."""


class Progress:
    """The stream of lines. Needs a running event loop."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._kind = ""
        self._text = ""
        self._timer: asyncio.TimerHandle | None = None

    def say(self, kind: str, /, **facts: Any) -> None:
        """One line `{"type": kind, …}`; what was still growing comes before it."""
        self.flush()
        self._write({"type": kind, **{name: clip(value) for name, value in facts.items()}})

    def grow(self, kind: str, text: str) -> None:
        """Add to a text that arrives in pieces: shown in lines that repeat nothing."""
        if kind != self._kind:
            self.flush()
        self._kind = kind
        self._text += text
        full = len(self._text) - len(self._text) % TEXT_LIMIT
        for start in range(0, full, TEXT_LIMIT):
            self._write({"type": kind, "text": clean(self._text[start : start + TEXT_LIMIT])})
        self._text = self._text[full:]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._text:
            self._write({"type": self._kind, "text": clean(self._text)})
        self._kind = self._text = ""

    def end(self, result: msgspec.Struct) -> None:
        """The last line, whole."""
        self.flush()
        self._write(result)

    def dropped(self, size: int, why: str) -> None:
        """A line of the agent's that was left out."""
        self.say("dropped", bytes=size, why=why)

    def _write(self, line: Any) -> None:
        try:
            self._out.write(msgspec.json.encode(line) + b"\n")
            self._out.flush()
        except BrokenPipeError:
            # Nobody reads on: the same as being told to stop.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
            signal.raise_signal(signal.SIGTERM)


def clip(value: Any) -> Any:
    """Text that fits a line; any other value as JSON text when it is not a plain one."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else _as_json(value)
    if len(text) > TEXT_LIMIT:
        half = TEXT_LIMIT // 2
        head, tail = cutting.beginning(text, half), cutting.ending(text, half)
        text = f"{head} … {len(text) - len(head) - len(tail)} characters … {tail}"
    return clean(text)


def clean(text: str) -> str:
    """`text` without the lone surrogates that JSON can carry and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _as_json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)
