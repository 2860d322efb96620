"""Values as people read them."""

from __future__ import annotations

import time
import unicodedata
from datetime import UTC, datetime

from markupsafe import Markup

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_BIDIRECTIONAL = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)))


def count(value: float) -> str:
    """1234567: "1,234,567"."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def dollars(value: float) -> str:
    """US dollars, small ones with more digits; nothing that was spent looks like nothing."""
    if value == 0 or abs(value) >= 1:
        return f"${value:,.2f}"
    digits = 4 if abs(value) >= 0.0001 else 6
    return f"${value:.{digits}f}"


def length(seconds: float) -> str:
    """A span of time by its two largest units: "1 h 20 min"."""
    whole = max(0, round(seconds))
    if whole < MINUTE:
        return f"{seconds:.1f} s" if 0 < seconds < 10 else f"{whole} s"
    if whole < HOUR:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 10 else "")
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
    return "".join(
        character
        for character in text.replace("\r\n", "\n")
        if character in "\n\t"
        or (unicodedata.category(character) not in ("Cc", "Cs") and character not in _BIDIRECTIONAL)
    )
