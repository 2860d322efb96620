"""What the loop says while it works: lines that a person reads, or JSON lines for a log collector."""

from __future__ import annotations

import re
import threading
from datetime import datetime
from typing import IO, Literal, Protocol

import msgspec

from harness.plain import plain

Level = Literal["info", "warning", "error"]
Value = str | int | float | bool | list[str] | None


class Progress(Protocol):
    """Somebody who is told what happens. Safe to call from several threads."""

    def say(
        self, event: str, message: str, *, level: Level = "info", issue: str = "", **facts: Value
    ) -> None:
        """`event` is the machine's word, `message` a person's sentence, `facts` more for the machine."""


def to(stream: IO[str]) -> Progress:
    """Readable on a terminal, JSON lines elsewhere."""
    return Readable(stream) if stream.isatty() else JsonLines(stream)


class JsonLines:
    """One JSON object a line: time, level, event, issue, message, and the facts."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def say(
        self, event: str, message: str, *, level: Level = "info", issue: str = "", **facts: Value
    ) -> None:
        now = datetime.now().astimezone().isoformat(timespec="milliseconds")
        line: dict[str, Value] = {"time": now, "level": level, "event": event}
        if issue:
            line["issue"] = issue
        line["message"] = message
        line |= {name: value for name, value in facts.items() if value is not None}
        with self._lock:
            self._stream.write(msgspec.json.encode(line).decode() + "\n")
            self._stream.flush()


class Readable:
    """`12:03:04  1a2b3c4d  the agent is at work`."""

    STYLES = {"info": "", "warning": "yellow", "error": "bold red"}

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console

        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._lock = threading.Lock()

    def say(
        self, event: str, message: str, *, level: Level = "info", issue: str = "", **facts: Value
    ) -> None:
        from rich.text import Text

        line = Text.assemble(
            (datetime.now().strftime("%H:%M:%S"), "dim"),
            "  ",
            (f"{issue[:8]:8}", "cyan"),
            "  ",
            (plain(message), self.STYLES[level]),
        )
        with self._lock:
            self._console.print(line, soft_wrap=True)


def short_ids(text: str) -> str:
    """Issue ids as long as they are unique enough for a person."""
    return re.sub(r"\b([0-9a-f]{8})[0-9a-f]{24}\b", r"\1", text)


def duration(seconds: float) -> str:
    """A length of time for people: "4 s", "12 min", "2 h 5 min"."""
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
