"""How much of the machine a run may take: processes, memory, the size of a file, and the disk's last room.

The kernel's own limits of processes and memory (setrlimit(2)) count per user, not per run, and not
at all for root; so the run's supervisor counts what is below it, with or without rights.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from harness.process_table import below, read

LOOK_SECONDS = 0.5
GLANCE_SECONDS = 0.05
"""In between, whether the machine has many more processes than at the last look: a bomb doubles in that time."""
RESERVE_BYTES = 512 * 1024 * 1024
"""What a run must leave of the disk, where there was twice as much at its start: our own state stands there."""
ENDING_SECONDS = 10.0
OUT_OF_MEMORY_SCORE = "500"
"""Where memory ends all the same, the kernel takes the agent, not who started it (proc(5), oom_score_adj)."""

_NICENESS = -15
_USUAL_NICENESS = os.getpriority(os.PRIO_PROCESS, 0)
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Bounds(NamedTuple):
    """Of a run with all that it starts. `memory_bytes` 0: three quarters of the machine's."""

    processes: int = 500
    memory_bytes: int = 0
    file_bytes: int = 8 * 1024**3

    @property
    def most_memory(self) -> int:
        return self.memory_bytes or machine_memory() * 3 // 4


class Look:
    """Looks at what is below this process, as often as there is need: to be asked every GLANCE_SECONDS."""

    def __init__(self, bounds: Bounds, disks: Iterable[str]) -> None:
        self.bounds = bounds
        self.at = 0.0
        """When to look next, by the monotonic clock."""
        self._tasks = 0
        self._guarded = [disk for disk in disks if _free(disk) > 2 * RESERVE_BYTES]

    def excess(self, now: float) -> str:
        """What has gone beyond its bound, in words; "": nothing, or it is not the time to look."""
        tasks = _tasks()
        if now < self.at and tasks < self._tasks + self.bounds.processes // 4:
            return ""
        self.at, self._tasks = now + LOOK_SECONDS, tasks
        found = list(
            islice(below(os.getpid()), self.bounds.processes + 1)
        )  # a bomb grows faster than we walk
        if len(found) > self.bounds.processes:
            return f"more than {self.bounds.processes} processes at once (sandbox.max_processes)"
        if sum(map(own_memory, found)) > self.bounds.most_memory:
            return f"more than {self.bounds.most_memory} bytes of memory (sandbox.max_memory_bytes)"
        if any(_free(disk) < RESERVE_BYTES for disk in self._guarded):
            return "the disk is nearly full"
        return ""


def come_first() -> None:
    """Let this process run before what it supervises, where it has the right to: one of thousands would come too late."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)


def keep_in(file_bytes: int) -> None:
    """Limits of this process and all that it starts; between fork and exec."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    most = file_bytes if hard == resource.RLIM_INFINITY else min(file_bytes, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.setpriority(os.PRIO_PROCESS, 0, _USUAL_NICENESS)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write(OUT_OF_MEMORY_SCORE)


def end_below(pid: int) -> None:
    """Kill what is below a process, however fast it multiplies: each is stopped before its children are looked for.

    Those that are missed are orphans by then, and found in the next round. Ends after ENDING_SECONDS at the latest.
    """
    deadline = time.monotonic() + ENDING_SECONDS
    stopped: set[int] = set()
    while time.monotonic() < deadline:
        fresh = 0
        for one in below(pid, visit=lambda found: _signal(found, signal.SIGSTOP)):
            fresh += one not in stopped
            stopped.add(one)
        if not fresh:
            break
    for one in stopped:
        _signal(one, signal.SIGKILL)


def own_memory(pid: int) -> int:
    """Bytes of memory that are no file's; 0 for what has ended."""
    try:
        resident, shared = read(f"{pid}/statm").split()[1:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE_BYTES


def machine_memory() -> int:
    """Bytes: the machine's, or the container's where that has less."""
    found = [os.sysconf("SC_PHYS_PAGES") * _PAGE_BYTES]
    with contextlib.suppress(OSError, ValueError):  # ValueError: "max"
        found.append(int(read("/sys/fs/cgroup/memory.max")))
    return min(found)


def _tasks() -> int:
    """Processes and threads of the whole machine: one small file, where the tree below us would be many."""
    try:
        return int(read("loadavg").split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _free(path: str) -> int:
    """Bytes; for ever many where it cannot be told."""
    try:
        about = os.statvfs(path)
    except OSError:
        return 1 << 62
    return about.f_bavail * about.f_frsize
