"""Find and end what a run left: processes that carry its marker, and orphans of its supervisor.

Tools and daemons of agent CLIs live in sessions of their own, so that signals to the
agent's group do not reach them; their environment still has the run's marker.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable

from harness.process_table import below, has_variable, pids, standing

MARKER = "ENT_RUN_ID"
SWEEP_SECONDS = 10.0


def sweep(marker: str) -> list[int]:
    """Kill every process whose environment has ENT_RUN_ID=`marker`; returns their ids.

    Ends after SWEEP_SECONDS at the latest, also when something cannot be killed.
    """
    return end_all(lambda: marked(marker))


def marked(marker: str) -> list[int]:
    """The processes that carry the marker, this one excepted."""
    if not marker:
        raise ValueError("a sweep without a marker would find nothing, or everything")
    return [pid for pid in pids() if has_variable(pid, MARKER, marker) and pid != os.getpid()]


def orphans(pid: int) -> list[int]:
    """All processes below `pid`."""
    return list(below(pid))


def end_all(find: Callable[[], Iterable[int]], reap: Callable[[], object] = lambda: None) -> list[int]:
    """Kill what `find` gives until it gives nothing; `reap` is called in between.

    All are stopped before the first is killed, so that none has time to make more.
    """
    ended: dict[int, None] = {}
    deadline = time.monotonic() + SWEEP_SECONDS
    while (found := [each for each in find() if is_alive(each)]) and time.monotonic() < deadline:
        for each in found:
            _signal(each, signal.SIGSTOP)
        for each in found:
            if _signal(each, signal.SIGKILL):
                ended[each] = None
        time.sleep(0.02)
        reap()
    return list(ended)


def is_alive(pid: int) -> bool:
    """False: it has ended, whether its parent took note or not."""
    found = standing(pid)
    return found is not None and not found.has_ended


def _signal(pid: int, number: int) -> bool:
    """False: it has ended, or is not ours."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
        return True
    return False
