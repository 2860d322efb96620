"""One holder at a time; a lock goes with its process, and no child keeps it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness import lock
from harness.errors import Busy

HOLDER = """
import sys, time
from pathlib import Path
from harness import lock
with lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(path: Path) -> subprocess.Popen[bytes]:
    """Another process that holds `path`."""
    lib = Path(lock.__file__).parents[1]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(lib)},
    )
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    return holder


def test_a_held_lock_is_busy_and_says_who_has_it(place: Path) -> None:
    holder = hold(place / "lock")
    try:
        says = rf"the loop is in use by another process \(pid {holder.pid}\)"
        with pytest.raises(Busy, match=says), lock.held(place / "lock", what="the loop"):
            raise AssertionError("held twice")
        assert not lock.is_free(place / "lock")
    finally:
        holder.kill()
        holder.communicate()


def test_kill_9_of_the_holder_frees_it(place: Path) -> None:
    holder = hold(place / "lock")
    holder.kill()
    holder.communicate()
    assert lock.is_free(place / "lock")


def test_waiting_takes_it_when_it_comes_free(place: Path) -> None:
    holder = hold(place / "lock")
    try:
        started = time.monotonic()
        with pytest.raises(Busy), lock.held(place / "lock", timeout_seconds=0.2):
            pass
        assert 0.2 <= time.monotonic() - started < 5
        holder.kill()
        with lock.held(place / "lock", timeout_seconds=10):
            pass
    finally:
        holder.kill()
        holder.communicate()


def test_a_child_does_not_keep_the_lock(place: Path) -> None:
    with lock.held(place / "lock"):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        assert lock.is_free(place / "lock")
    finally:
        child.kill()
        child.wait()


def test_the_folder_is_made_and_the_file_is_private(place: Path) -> None:
    with lock.held(place / "new/folder/lock"):
        assert (place / "new/folder/lock").stat().st_mode & 0o777 == 0o600


def test_what_is_raised_inside_frees_it(place: Path) -> None:
    with pytest.raises(KeyError), lock.held(place / "lock"):
        raise KeyError
    assert lock.is_free(place / "lock")


def test_whoever_only_looks_is_in_nobodys_way(place: Path) -> None:
    with lock.held(place / "lock"):
        pass
    looking = (place / "lock").open("rb")
    fcntl.flock(looking, fcntl.LOCK_SH)
    assert lock.is_free(place / "lock")
    threading.Timer(0.03, looking.close).start()
    with lock.held(place / "lock"):
        assert not lock.is_free(place / "lock")
