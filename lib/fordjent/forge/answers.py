"""From the bytes that came back to a value, or to an error that says what may be done."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeVar

import msgspec

from fordjent.forge.errors import BY_STATUS, ForgeError, NotOffered, NotUnderstood, Unreachable
from harness.clock import timestamp

T = TypeVar("T")

SAID_CHARACTERS = 500
LONGEST_WAIT_SECONDS = 3600.0
_NEXT = re.compile(r'<[^>]*>\s*;[^,]*\brel="?next"?')

_HINTS = {
    401: "see that forgejo.token is right and has not been revoked",
    403: "see that the token has the scopes and its account the rights (`write` on the repository)",
    423: "the repository is archived; nothing is done there",
}


class Answer(msgspec.Struct, frozen=True):
    """What came back, before anything is made of it. Names of headers are in lower case."""

    method: str
    path: str
    status: int
    headers: dict[str, str]
    body: bytes
    truncated: bool = False


def decode(answer: Answer, of: type[T]) -> T:
    """The body as a type; `null` stands for an empty list and for a missing field.

    Raises:
        NotUnderstood: it is none.
    """
    try:
        value = _without_nulls(msgspec.json.decode(answer.body or b"null"))
        if value is None and getattr(of, "__origin__", of) is list:
            value = []
        return msgspec.convert(value, of)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise NotUnderstood(
            answer.method, answer.path, answer.status, f"the answer is not as expected: {error}"
        ) from error


def failure(answer: Answer, redact: Callable[[str], str]) -> ForgeError:
    """The error that an answer outside 2xx is."""
    said = redact(_message(answer))[:SAID_CHARACTERS]
    kind = BY_STATUS.get(answer.status)
    if answer.status == 405 and not answer.path.endswith("/merge"):
        kind = NotOffered
    if answer.status == 429 or answer.status >= 500:
        wait = retry_after(answer.headers.get("retry-after", ""))
        return Unreachable(
            answer.method,
            answer.path,
            answer.status,
            said,
            received=answer.status != 429,
            wait_seconds=wait,
            resume_at=timestamp(time() + wait) if wait else "",
        )
    if kind is None:
        return NotUnderstood(answer.method, answer.path, answer.status, said)
    return kind(answer.method, answer.path, answer.status, said, hint=_HINTS.get(answer.status, ""))


def retry_after(header: str) -> float:
    """Seconds that a Retry-After header asks for, a number or a date; 0 without one; capped."""
    text = header.strip()
    if text.isdecimal():
        return min(float(text[:9]), LONGEST_WAIT_SECONDS)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - time()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)


def is_last_page(answer: Answer, seen: int) -> bool | None:
    """Whether no page follows, as `Link` and `X-Total-Count` tell; None: they do not."""
    link, total = answer.headers.get("link", ""), answer.headers.get("x-total-count", "")
    if link:
        return not _NEXT.search(link)
    return seen >= int(total) if total.isdecimal() else None


def _message(answer: Answer) -> str:
    """The server's own words: of its JSON what says something, else the start of the text."""
    try:
        value = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = answer.body.decode("utf-8", "replace")
        return " ".join(re.sub(r"<[^>]*>", " ", text).split())
    if not isinstance(value, dict):
        return ""
    parts = [value.get("message"), *(value.get("errors") or ()), value.get("Style"), value.get("StdErr")]
    return "; ".join(str(part) for part in parts if part)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value
