"""From when on costs are asked for, as a person says it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from harness.errors import Usage

_AGO = re.compile(r"(\d{1,6})([dhm])")
_SECONDS = {"d": 86400, "h": 3600, "m": 60}


def read(text: str, now: float) -> float:
    """Seconds since 1970 of "2026-11-01", of a time of RFC 3339, or of so long ago ("30d", "24h", "90m").

    What names no zone is UTC, as months and days of budgets are. "": the beginning.

    Raises:
        Usage: it is none of them.
    """
    if not text:
        return 0.0
    if ago := _AGO.fullmatch(text):
        return max(now - int(ago[1]) * _SECONDS[ago[2]], 0.0)
    try:
        at = datetime.fromisoformat(text)
        return max((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp(), 0.0)
    except (ValueError, OverflowError) as error:
        raise Usage(f"--since: {text!r} is no time", hint="write 2026-11-01, or 30d, or 24h") from error
