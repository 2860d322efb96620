"""No new work for a while: a file in the state folder that selection and the loop look at.

What is being worked goes on to its end, and what an earlier loop left is still finished.
"""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import msgspec

from ent_agent import state
from ent_agent.config import Config
from harness import atomic, clock


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """Times are RFC 3339, UTC; `until` "": until `resume`."""

    since: str
    until: str = ""
    reason: str = ""

    def __str__(self) -> str:
        end = f"until {self.until}" if self.until else "until `invoke resume`"
        return f"paused {end}" + (f": {self.reason}" if self.reason else "")


def pause(config: Config, for_seconds: float | None = None, reason: str = "") -> Pause:
    """Begin no new work; replaces a pause that is there. None: without end."""
    until = "" if for_seconds is None else clock.timestamp(time.time() + for_seconds)
    begun = Pause(since=clock.timestamp(), until=until, reason=reason)
    atomic.write_json(_file(config), begun)
    return begun


def resume(config: Config) -> bool:
    """End the pause; whether there was one."""
    paused = current(config) is not None
    _file(config).unlink(missing_ok=True)
    return paused


def current(config: Config) -> Pause | None:
    """The pause that holds now; None: work goes on.

    A file that cannot be read holds too: somebody wanted a pause.
    """
    path = _file(config)
    if not path.exists():
        return None
    unreadable = Pause(since="", reason=f"{path} is there, but not readable")
    found = atomic.read_json(path, Pause, unreadable)
    return None if found.until and _seconds(found.until) <= time.time() else found


def _file(config: Config) -> Path:
    return state.of(config).root / "pause.json"


def _seconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return float("inf")
