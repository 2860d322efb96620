"""Clocks: which one may be trusted for what.

Two hosts' wall clocks are never compared. A holder counts its time by the clock that
shows most (`elapsed_at_most`), an observer by the one that shows least
(`elapsed_at_least`): safe under any skew, step or suspend.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One instant by every clock of this machine, in seconds; comparable within one boot only."""

    boot_id: str
    monotonic_seconds: float
    """Does not count suspend."""
    boot_seconds: float
    """Counts suspend (CLOCK_BOOTTIME; the monotonic clock where there is none)."""
    wall_seconds: float


def now() -> Moment:
    monotonic = time.monotonic()
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return Moment(
        boot_id=boot_id(),
        monotonic_seconds=monotonic,
        boot_seconds=monotonic if boottime is None else time.clock_gettime(boottime),
        wall_seconds=time.time(),
    )


def elapsed_at_most(since: Moment, until: Moment) -> float:
    """Seconds that may have passed; without end after a reboot."""
    if since.boot_id != until.boot_id:
        return float("inf")
    return max(until.boot_seconds - since.boot_seconds, until.wall_seconds - since.wall_seconds)


def elapsed_at_least(since: Moment, until: Moment) -> float:
    """Seconds that have passed for sure; none after a reboot."""
    if since.boot_id != until.boot_id:
        return 0.0
    return until.monotonic_seconds - since.monotonic_seconds


@cache
def boot_id() -> str:
    """An id of this boot of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return f"boot-{round((time.time() - time.monotonic()) / 60)}"


def timestamp(when: float | None = None) -> str:
    """RFC 3339 in UTC with seconds, e.g. 2025-11-30T18:07:00+00:00; `when`: seconds since the epoch."""
    at = datetime.now(UTC) if when is None else datetime.fromtimestamp(when, UTC)
    return at.replace(microsecond=0).isoformat()
