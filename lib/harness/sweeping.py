"""Find and end what a run left: processes that carry its marker, and orphans of its supervisor.

Tools and daemons of agent CLIs live in sessions of their own, so that signals to the
agent's group do not reach them; their environment still has the run's marker.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable

import psutil

MARKER = "ENT_RUN_ID"
SWEEP_SECONDS = 10.0


def sweep(marker: str) -> list[int]:
    """Kill every process whose environment has ENT_RUN_ID=`marker`; returns their ids.

    Ends after SWEEP_SECONDS at the latest, also when something cannot be killed.
    """
    return end_all(lambda: marked(marker))


def marked(marker: str) -> list[psutil.Process]:
    """The processes that carry the marker, this one excepted."""
    if not marker:
        raise ValueError("a sweep without a marker would find nothing, or everything")
    return [process for process in psutil.process_iter() if _carries(process, marker)]


def orphans(pid: int) -> list[psutil.Process]:
    """All processes below `pid`."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def end_all(
    find: Callable[[], Iterable[psutil.Process]], reap: Callable[[], object] = lambda: None
) -> list[int]:
    """Kill what `find` gives until it gives nothing; `reap` is called in between.

    All are stopped before the first is killed, so that none has time to make more.
    """
    ended: dict[int, None] = {}
    deadline = time.monotonic() + SWEEP_SECONDS
    while (found := [each for each in find() if _is_alive(each)]) and time.monotonic() < deadline:
        for each in found:
            with contextlib.suppress(psutil.Error):
                each.suspend()
        for each in found:
            with contextlib.suppress(psutil.Error):
                each.kill()
                ended[each.pid] = None
        time.sleep(0.02)
        reap()
    return list(ended)


def _carries(process: psutil.Process, marker: str) -> bool:
    try:
        return process.environ().get(MARKER) == marker and process.pid != psutil.Process().pid
    except (psutil.Error, OSError):
        return False


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
