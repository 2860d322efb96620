"""Who holds leases: a worker of a process of a machine, so that its death can be seen from the same machine."""

from __future__ import annotations

import os
import socket
from typing import NamedTuple

import psutil

from harness.clock import boot_id


class Owner(NamedTuple):
    """`started_at`: of the process, since its id is given again one day; `nonce`: several in one process."""

    host: str
    boot: str
    pid: int
    started_at: float
    nonce: str

    def __str__(self) -> str:
        return " ".join((self.host, self.boot, str(self.pid), f"{self.started_at:.2f}", self.nonce))


def mine() -> Owner:
    """A new owner in this process."""
    process = psutil.Process()
    return Owner(socket.gethostname(), boot_id(), process.pid, process.create_time(), os.urandom(4).hex())


def is_dead(text: str) -> bool:
    """Whether that owner is known to have ended; one on another machine is known by its lease's end alone."""
    words = text.split(" ")
    if len(words) != len(Owner._fields) or words[0] != socket.gethostname():
        return False
    if words[1] != boot_id():
        return True
    try:
        return abs(psutil.Process(int(words[2])).create_time() - float(words[3])) > 0.05
    except psutil.NoSuchProcess:
        return True
    except (psutil.Error, ValueError):
        return False
