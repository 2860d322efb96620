"""When a quota returns, out of what an agent CLI says of it in its own words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

LATEST = timedelta(days=31)

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_LENGTH = re.compile(
    r"(\d+(?:\.\d+)?)\s*(d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])"
)
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\.?|(\d{1,2}):(\d{2})", re.IGNORECASE)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAY = re.compile(
    rf"({'|'.join(_MONTHS)})[a-z]* (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?\b", re.IGNORECASE
)
_ZONE = re.compile(r"\(([A-Za-z_]+(?:/[A-Za-z_+-]+)*)\)")


def parse(text: str, now: datetime) -> str:
    """RFC 3339 in UTC of a time in words; "" when it is none, or lies in the past or far off.

    Understood: seconds or milliseconds since the epoch, RFC 3339 (without a zone: `now`'s),
    lengths ("2 hours 5 minutes", "90s"; a bare number is seconds), and times of the day
    ("3pm", "15:05", "3pm (Europe/Berlin)", "Dec 3rd, 2026 3:05 PM").
    """
    moment = _moment(text.strip(), now)
    if moment is None or not now <= moment <= now + LATEST:
        return ""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _moment(text: str, now: datetime) -> datetime | None:
    if re.fullmatch(r"\d{10}(?:\d{3})?", text):
        return datetime.fromtimestamp(int(text[:10]), UTC)
    if re.fullmatch(r"\d{1,7}(?:\.\d+)?", text):
        return now + timedelta(seconds=float(text))
    try:
        stated = datetime.fromisoformat(text)
        return stated if stated.tzinfo else stated.replace(tzinfo=now.tzinfo)
    except ValueError:
        pass
    clock = _CLOCK.search(text)
    if clock:
        there = now.astimezone(_zone(text) or now.tzinfo)
        return _time_of_day(clock, _DAY.search(text), there)
    parts = _LENGTH.findall(text.lower())
    if parts:
        return now + timedelta(seconds=sum(float(number) * _UNITS[unit[0]] for number, unit in parts))
    return None


def _time_of_day(clock: re.Match[str], day: re.Match[str] | None, now: datetime) -> datetime | None:
    """On that day, else the next time that a clock shows it."""
    hour, minute = int(clock[1] or clock[4]), int(clock[2] or clock[5] or 0)
    if clock[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if clock[3].lower() == "p" else 0)
    try:
        moment = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if day:
            month = _MONTHS.index(day[1].lower()) + 1
            moment = moment.replace(year=int(day[3] or now.year), month=month, day=int(day[2]))
            is_next_year = not day[3] and moment < now - timedelta(days=31)
            return moment.replace(year=now.year + 1) if is_next_year else moment
    except ValueError:
        return None
    return moment if moment > now else moment + timedelta(days=1)


def _zone(text: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    named = _ZONE.search(text)
    if named is None:
        return None
    try:
        return ZoneInfo(named[1])
    except (ZoneInfoNotFoundError, ValueError):
        return None
