"""This machine: its clock, and room where something of ours is kept."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from harness.doctor.findings import Finding, ok, problem, warning

SHORT_OF_ROOM_BYTES = 1 << 30
NO_ROOM_BYTES = 100 << 20
FEWEST_FILES = 10_000
EARLIEST = 1_735_689_600  # 2025-01-01: no clock of a machine that runs this shows less


def clock() -> Iterator[Finding]:
    if time.time() < EARLIEST:
        yield problem("clock", f"the clock says {time.ctime()}", "sudo timedatectl set-ntp true")
    else:
        yield ok("clock", time.strftime("%Y-%m-%dT%H:%M:%S%z"))


def folder(root: Path, to_make_room: str) -> Iterator[Finding]:
    """The state folder can be written, and there is room on its disk. `to_make_room`: a command of ours."""
    there = next(path for path in (root, *root.parents) if path.exists())
    quoted = shlex.quote(str(there))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        fix = f'sudo chown "$(id -u)" {quoted}'
        yield problem("state_dir", f"{root} cannot be written: {there} is not ours to write", fix)
        return
    if os.statvfs(there).f_flag & os.ST_NOEXEC:
        yield warning("state_dir", f"{there} is mounted noexec: agents cannot run what they build there")
    yield ok("state_dir", str(root))
    yield _room(there, to_make_room)


def _room(there: Path, to_make_room: str) -> Finding:
    free = shutil.disk_usage(there).free
    about = os.statvfs(there)
    said = f"{free / (1 << 30):.1f} GiB are free at {there}"
    fix = f"df -h {shlex.quote(str(there))}; {to_make_room}"
    if about.f_files and about.f_favail < FEWEST_FILES:
        return problem("disk", f"room for only {about.f_favail} more files at {there}", fix)
    if free < NO_ROOM_BYTES:
        return problem("disk", said, fix)
    return warning("disk", said, fix) if free < SHORT_OF_ROOM_BYTES else ok("disk", said)
