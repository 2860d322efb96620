"""What an agent CLI says of its own run: last words, verdict, usage. A witness, not the judge.

Bytes are decoded with replacement, a line of JSON may have 16 MiB, and nothing in an
output can make the reading fail.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal

import jmespath
import msgspec

from harness import cutting, resume_time
from harness.adapter import Adapter, FailureTexts, Output

LINE_BYTES = 16 * 1024 * 1024
END_BYTES = 16 * 1024
MESSAGE_CHARACTERS = 16_000
TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are none, or that are nested without end."""

Reported = Literal["", "success", "error", "turn_limit", "quota", "auth"]


@dataclass(frozen=True)
class Usage:
    """None: not reported. `input_tokens` excludes cached ones."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True)
class Said:
    """`resume_at`: RFC 3339, when the quota returns, where that was said."""

    reported: Reported = ""
    message: str = ""
    usage: Usage = field(default_factory=Usage)
    resume_at: str = ""


def read(adapter: Adapter, source: Path, stderr: Path, exit_code: int | None, now: datetime) -> Said:
    """Read the output of a run that ended with `exit_code` (None: by a signal).

    `source` is the file that `output.source` means; it may be missing.
    """
    output = adapter.output
    if output.format == "text":
        found = _Found(message=end(source, 4 * MESSAGE_CHARACTERS).strip(), complaints=end(source))
    else:
        found = _search(output, source)
    success = bool(output.success) and found.success and not found.error and exit_code == 0
    complaints = f"{found.complaints}\n{end(stderr)}"
    reported, resume_at = _failure(adapter.failure, complaints, now) if not success else ("", "")
    if not reported:
        failed = bool(found.error) or bool(output.success and not found.success)
        reported = "success" if success else "error" if failed else ""
    message = found.message or _text(found.error)
    return Said(reported, cutting.ending(message, MESSAGE_CHARACTERS), found.usage, resume_at)


def usage_from(printed: bytes, before: Usage) -> Usage:
    """`before`, with what a usage command printed as a JSON object; nonsense changes nothing."""
    try:
        document = msgspec.json.decode(printed)
    except NO_JSON:
        return before
    if not isinstance(document, dict):
        return before
    tokens = {name: _number(document.get(name)) for name in TOKENS}
    cost = _number(document.get("cost_usd"))
    known: dict[str, Any] = {name: int(number) for name, number in tokens.items() if number is not None}
    return replace(before, **known, cost_usd=before.cost_usd if cost is None else cost)


def end(path: Path, size: int = END_BYTES) -> str:
    """The last `size` bytes of a file as text, from a line's beginning; "" when there is none."""
    try:
        with _opened(path) as file:
            length = file.seek(0, 2)
            file.seek(max(0, length - size))
            data = file.read()
    except OSError:
        return ""
    if length > size and b"\n" in data[:-1]:
        data = data.partition(b"\n")[2]
    return data.decode("utf-8", "replace")


@dataclass
class _Found:
    """`complaints`: the text in which failures are looked for."""

    message: str = ""
    success: bool = False
    error: Any = None
    usage: Usage = field(default_factory=Usage)
    complaints: str = ""


class _Functions(jmespath.functions.Functions):
    """What adapters need and JMESPath lacks."""

    @jmespath.functions.signature({"types": ["number", "null"]}, {"types": ["number", "null"]})
    def _func_subtract(self, number: float | None, less: float | None) -> float | None:
        return None if number is None else number - (less or 0)


_OPTIONS = jmespath.Options(custom_functions=_Functions())


def _search(output: Output, source: Path) -> _Found:
    """Every expression on the document, or on each line: last message, sums, any success, last error."""
    asked = {key: jmespath.compile(expression) for key, expression in output.expressions()}
    found = _Found()
    sums: dict[str, float] = {}
    plain: list[str] = []
    for document in _documents(output, source, plain.append):
        values = {key: _ask(expression, document) for key, expression in asked.items()}
        if values.get("message"):
            found.message = _text(values["message"]).strip()
        found.success = found.success or bool(values.get("success"))
        found.error = values.get("error") or found.error
        for key in (*TOKENS, "cost_usd"):
            number = _number(values.get(key))
            if number is not None:
                sums[key] = sums.get(key, 0) + number
    cost = sums.pop("cost_usd", None)
    found.usage = Usage(**{key: int(value) for key, value in sums.items()}, cost_usd=cost)
    said = [*plain[-50:], _text(found.error)] if output.error else [end(source)]
    found.complaints = "\n".join(said)
    return found


def _documents(output: Output, source: Path, plain: Callable[[str], object]) -> Iterator[Any]:
    """The JSON values of the output; lines that are none go to `plain`."""
    lines = list(_lines(source)) if output.format == "json" else _lines(source)
    if output.format == "json":
        try:
            yield msgspec.json.decode(b"".join(lines))
            return
        except NO_JSON:
            pass  # something was printed around it: the last line that is an object
    last: Any = None
    for line in lines:
        try:
            document = msgspec.json.decode(line.decode("utf-8", "replace"))
        except NO_JSON:
            plain(line[:END_BYTES].decode("utf-8", "replace"))
            continue
        if output.format == "jsonl":
            yield document
        elif isinstance(document, dict):
            last = document
    if last is not None:
        yield last


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file; one over LINE_BYTES is left out, and the next ones are not."""
    try:
        with _opened(path) as file:
            while line := file.readline(LINE_BYTES):
                if len(line) < LINE_BYTES or line.endswith(b"\n"):
                    if line.strip():
                        yield line
                    continue
                while line and not line.endswith(b"\n"):
                    line = file.readline(LINE_BYTES)
    except OSError:
        return


def _opened(path: Path) -> IO[bytes]:
    """A regular file: an agent may have put a link to somebody's secret, or a pipe without end, in its place.

    Raises:
        OSError: it is missing, or none.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file")
    return os.fdopen(descriptor, "rb")


def _ask(expression: Any, document: Any) -> Any:
    try:
        return expression.search(document, options=_OPTIONS)
    except jmespath.exceptions.JMESPathError:
        return None


def _failure(texts: FailureTexts, complaints: str, now: datetime) -> tuple[Reported, str]:
    def matches(patterns: Iterable[str]) -> bool:
        return any(re.search(pattern, complaints) for pattern in patterns)

    if matches(texts.auth):
        return "auth", ""
    if matches(texts.quota):
        stated = re.findall(texts.resume_at, complaints) if texts.resume_at else []
        return "quota", resume_time.parse(stated[-1], now) if stated else ""
    return ("turn_limit", "") if matches(texts.turn_limit) else ("", "")


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return float(value)
