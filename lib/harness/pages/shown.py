"""Values as people read them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from markupsafe import Markup

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Control characters, and those that change the direction of writing."""


def count(value: float) -> str:
    """1234567: "1,234,567"."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def dollars(value: float) -> str:
    """US dollars; of less than one as many digits as it takes to see them: $0.25, $0.0031, $0.000007."""
    if value == 0 or abs(value) >= 1:
        return f"${value:,.2f}"
    digits = 4 if abs(value) >= 0.0001 else 6
    whole, _, rest = f"{value:.{digits}f}".partition(".")
    return f"${whole}.{rest.rstrip('0'):0<2}"


def length(seconds: float) -> str:
    """A span of time as exactly as it matters: "8.5 s", "12 min", "1 h 20 min", "3 days"."""
    whole = max(0, round(seconds))
    if whole < MINUTE:
        return f"{seconds:.1f} s" if 0 < seconds < 10 else f"{whole} s"
    if whole < HOUR:
        return f"{whole // 60} min"
    hours, minutes = divmod(whole // 60, 60)
    if hours < 48:
        return f"{hours} h" + (f" {minutes} min" if minutes else "")
    return f"{hours // 24} days"


def byte_size(value: int) -> str:
    if value < 10_000:
        return f"{value} bytes"
    return f"{value / 1000:.0f} kB" if value < 10_000_000 else f"{value / 1e6:.0f} MB"


def moment(at: float) -> Markup:
    """Seconds since 1970 as an element: the day and minute in UTC, the second when it is pointed at."""
    when = datetime.fromtimestamp(at, UTC)
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        when.isoformat(timespec="seconds"), when.strftime("%Y-%m-%d %H:%M:%S"), when.strftime("%b %d %H:%M")
    )


def moment_of(written: str) -> Markup:
    """The same of a time that is written as RFC 3339."""
    return moment(datetime.fromisoformat(written).timestamp())


def ago(at: float, now: float | None = None) -> Markup:
    """The same as how long that is ago, or is still to come."""
    when = datetime.fromtimestamp(at, UTC)
    past = (time.time() if now is None else now) - at
    words = "now" if abs(past) < 1 else f"{length(past)} ago" if past > 0 else f"in {length(-past)}"
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        when.isoformat(timespec="seconds"), when.strftime("%Y-%m-%d %H:%M:%S"), words
    )


def plain(text: str) -> str:
    """Without what draws over, hides or turns the text around it; line feeds and tabs stay."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n"))


def as_text(value: object) -> object:
    """What a template puts out: `plain`, unless it is an element that we made."""
    return plain(value) if type(value) is str else value
