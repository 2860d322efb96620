"""Kernel locks on files: released with the process, whatever ended it; no PID is ever trusted.

The descriptor is close-on-exec, so no child holds a lock on after its parent.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import Busy

LOOK_SECONDS = 0.1
"""`is_free` of somebody else is no holder: it is over before this."""


@contextmanager
def held(path: Path, *, timeout_seconds: float = 0.0, what: str = "") -> Iterator[None]:
    """Hold `path` exclusively; wait up to `timeout_seconds` for it, and for a moment in any case.

    Raises:
        Busy: somebody else holds it. `what` says what is locked, for the message.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + max(timeout_seconds, LOOK_SECONDS)
        while not _take(descriptor):
            if time.monotonic() >= deadline:
                raise Busy(f"{what or path} is in use by another process{_holder(descriptor)}")
            time.sleep(0.02)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)  # information for people only
        yield
    finally:
        os.close(descriptor)


def is_free(path: Path) -> bool:
    """Whether nobody holds `path` just now."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        return _take(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _take(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def _holder(descriptor: int) -> str:
    pid = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    return f" (pid {pid})" if pid.isdigit() else ""
