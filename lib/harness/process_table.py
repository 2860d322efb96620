"""What runs on this machine, read from proc(5).

Here and in what else a supervisor imports stands nothing that is slow to import (dataclasses, pathlib,
subprocess, psutil): it must start at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

PROC = "/proc"

_ENDED = frozenset("ZX")


class Standing(NamedTuple):
    """`has_ended`: it waits for its parent to take note."""

    parent: int
    has_ended: bool


def pids() -> list[int]:
    return [int(name) for name in os.listdir(PROC) if name.isdigit()]  # noqa: PTH208


def standing(pid: int) -> Standing | None:
    """None: there is no such process."""
    try:
        state, parent = read(f"{pid}/stat").rpartition(b")")[2].split()[:2]
    except OSError:
        return None
    return Standing(int(parent), state.decode() in _ENDED)


def has_variable(pid: int, name: str, value: str) -> bool:
    """Whether the environment that a process was started with has this; False where it may not be read."""
    try:
        return os.fsencode(f"{name}={value}") in read(f"{pid}/environ").split(b"\0")
    except OSError:
        return False


def children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"{PROC}/{pid}/task")  # noqa: PTH208
        return [int(one) for thread in threads for one in read(f"{pid}/task/{thread}/children").split()]
    except FileNotFoundError:  # it has ended, or this kernel has no such file
        return [one for one in pids() if (found := standing(one)) and found.parent == pid]
    except OSError:  # it has ended
        return []


def below(pid: int, visit: Callable[[int], object] = lambda _: None) -> Iterator[int]:
    """The processes below one, each before its children; those that end meanwhile may be missed. `visit`: before they
    are looked for."""
    waiting = [pid]
    while waiting:
        for found in children(waiting.pop()):
            visit(found)
            yield found
            waiting.append(found)


def read(name: str) -> bytes:
    """A file of /proc, whose sizes say nothing."""
    with open(os.path.join(PROC, name), "rb") as file:  # noqa: PTH118, PTH123
        return file.read()
