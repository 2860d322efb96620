"""Times, as entomologist reads and writes them: RFC 3339 by the rules of Rust's chrono."""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from harness.errors import BadData

TOO_SHORT = "premature end of input"
INVALID = "input contains invalid characters"
OUT_OF_RANGE = "input is out of range"
TOO_LONG = "trailing input"

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+\-\u2212])(\d\d):(\d\d))", re.ASCII
)
_NANOSECONDS = 1_000_000_000


class Instant(NamedTuple):
    """A moment: seconds since the epoch, and nanoseconds (1e9 and more inside a leap second)."""

    seconds: int
    nanoseconds: int = 0


def now() -> Instant:
    return Instant(*divmod(time.time_ns(), _NANOSECONDS))


def parse_time(text: str) -> Instant:
    """The moment in a trimmed RFC 3339 text, as chrono's `parse_from_rfc3339` takes it.

    Also with a space for the T, with U+2212 for the minus, with second 60 in any
    minute; digits after the ninth are dropped.

    Raises:
        BadData: chrono's message for it.
    """
    match = _TIME.match(text)
    if match is None:
        raise BadData(_why_not_time(text))
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if not (_is_date(year, month, day) and _is_clock(hour, minute, second)):
        raise BadData(OUT_OF_RANGE)
    nanoseconds = int((match[7] or "0")[:9].ljust(9, "0"))
    offset = 0
    if match[8]:
        if int(match[10]) > 59:
            raise BadData(OUT_OF_RANGE)
        offset = int(match[9]) * 3600 + int(match[10]) * 60
    if match.end() != len(text):
        raise BadData(TOO_LONG)
    if offset >= 86400:
        raise BadData(OUT_OF_RANGE)
    if second == 60:
        second, nanoseconds = 59, nanoseconds + _NANOSECONDS
    of_day = hour * 3600 + minute * 60 + second
    return Instant(
        _days_since_epoch(year, month, day) * 86400 + of_day - (offset if match[8] == "+" else -offset),
        nanoseconds,
    )


def write_time(instant: Instant) -> str:
    """The text for a file: chrono's `to_rfc3339` in the local zone, e.g. 2025-01-31T01:02:03.5+00:00.

    Raises:
        BadData: the local year is not in 1 to 9998; entomologist could not read it again.
    """
    local = time.localtime(instant.seconds)
    if not 1 <= local.tm_year <= 9998:
        raise BadData(f"the year {local.tm_year} is not in 1 to 9998")
    return _rfc3339(local, instant)


def exact_time(instant: Instant) -> str:
    """As `write_time`, but never refused, and the same moment when read again.

    Where the local zone's offset has seconds (before 1900) `write_time` rounds it, as
    entomologist does; here such times, and years that need a sign, are told in UTC.
    """
    local = time.localtime(instant.seconds)
    if local.tm_gmtoff % 60 or not 0 <= local.tm_year <= 9999:
        local = time.gmtime(instant.seconds)
    return _rfc3339(local, instant)


def display_time(instant: Instant) -> str:
    """The text for people and commit messages, in the local zone: `2025-01-31 01:02:03 +00:00`."""
    local = time.localtime(instant.seconds)
    minutes, seconds = divmod(abs(local.tm_gmtoff), 60)
    zone = f"{'-' if local.tm_gmtoff < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{_date(local)} {_clock(local, instant.nanoseconds)} {zone}{f':{seconds:02}' if seconds else ''}"


def _rfc3339(local: time.struct_time, instant: Instant) -> str:
    minutes = (abs(local.tm_gmtoff) + 30) // 60
    zone = f"{'-' if local.tm_gmtoff < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{_date(local)}T{_clock(local, instant.nanoseconds)}{zone}"


def _date(local: time.struct_time) -> str:
    year = f"{local.tm_year:04}" if 0 <= local.tm_year <= 9999 else f"{local.tm_year:+05}"
    return f"{year}-{local.tm_mon:02}-{local.tm_mday:02}"


def _clock(local: time.struct_time, nanoseconds: int) -> str:
    leap, nanoseconds = divmod(nanoseconds, _NANOSECONDS)
    fraction = f"{nanoseconds:09}"
    while nanoseconds and fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{local.tm_hour:02}:{local.tm_min:02}:{local.tm_sec + leap:02}" + (
        f".{fraction}" if nanoseconds else ""
    )


def _is_date(year: int, month: int, day: int) -> bool:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= lengths[month - 1]


def _is_clock(hour: int, minute: int, second: int) -> bool:
    return hour <= 23 and minute <= 59 and second <= 60


def _days_since_epoch(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the proleptic Gregorian calendar; year 0 too, which datetime lacks."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def _why_not_time(text: str) -> str:
    """chrono's complaint about a text that is not shaped like a time; it reads from left to right."""
    if len(text.encode("utf-8", "surrogatepass")) < 19:
        return TOO_SHORT
    date = re.match(r"(\d{4})-(\d\d)-(\d\d)", text, re.ASCII)
    if date is None:
        return INVALID
    if not _is_date(*(int(part) for part in date.groups())):
        return OUT_OF_RANGE
    clock = re.match(r"[Tt ](\d\d):(\d\d):(\d\d)", text[10:], re.ASCII)
    if clock is None:
        return INVALID
    rest = text[19:]
    if rest.startswith("."):
        digits = re.match(r"\.(\d+)", rest, re.ASCII)
        if digits is None:
            return INVALID if rest[1:] else TOO_SHORT
        rest = rest[digits.end() :]
    if not _is_clock(*(int(part) for part in clock.groups())):
        return OUT_OF_RANGE
    return _why_not_offset(rest)


def _why_not_offset(rest: str) -> str:
    if rest[:1] not in ("", "+", "-", "\u2212"):
        return INVALID
    offset = rest[1:].encode("utf-8", "surrogatepass")
    for part, good in ((offset[:2], bytes.isdigit), (offset[2:3], b":".__eq__), (offset[3:5], bytes.isdigit)):
        if len(part) < (1 if good is not bytes.isdigit else 2):
            return TOO_SHORT
        if not good(part):
            return INVALID
    return INVALID
