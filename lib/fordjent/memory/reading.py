"""A session's memory, asked: the lines that somebody wants to see."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from fordjent.memory.entries import Entry
from harness import config
from harness.errors import Usage


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """`since`: seconds since 1970; `limit` 0: all of them, else the newest."""

    tool: str = ""
    since: float = 0.0
    grep: re.Pattern[str] | None = None
    limit: int = 0


def wanted(tool: str, since: str, grep: str, limit: int) -> Wanted:
    """
    Raises:
        Usage: `since` is no time and no length of time, `grep` no regular expression, or `limit` below 0.
    """
    if limit < 0:
        raise Usage("--limit is a number of entries, 0 for all")
    try:
        pattern = re.compile(grep, re.IGNORECASE) if grep else None
    except re.error as error:
        raise Usage(f"--grep {grep!r} is no regular expression: {error}") from error
    return Wanted(tool=tool, since=_seconds(since) if since else 0.0, grep=pattern, limit=limit)


def chosen(entries: Iterable[Entry], of: Wanted) -> Iterator[Entry]:
    """Those that are wanted, oldest first."""
    found = (entry for entry in entries if _matches(entry, of))
    yield from deque(found, maxlen=of.limit) if of.limit else found


def _matches(entry: Entry, of: Wanted) -> bool:
    if of.tool and entry.tool_name != of.tool and of.tool not in entry.calls:
        return False
    if of.since and datetime.fromisoformat(entry.timestamp).timestamp() < of.since:
        return False
    texts = (entry.input, entry.response, entry.tool_name, entry.tool_args, entry.tool_result, *entry.calls)
    return of.grep is None or any(of.grep.search(text) for text in texts)


def _seconds(since: str) -> float:
    """Of a time, or of a length of time before now."""
    try:
        at = datetime.fromisoformat(since)
    except ValueError:
        return time.time() - config.given_seconds("--since", since)
    return (at if at.tzinfo else at.astimezone()).astimezone(UTC).timestamp()
