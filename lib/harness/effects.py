"""Names for what leaves the process or reaches the disk, so that tests can stop it right after any of them.

The names are the crash matrix: whatever ends a program at one of them, the next run
must come to the same end state.
"""

from __future__ import annotations

import os
import signal

STOP_AT = "ENT_AGENT_STOP_AT"
"""For tests only: the effect after which the whole process group is killed."""


def reached(name: str) -> None:
    """Say that the effect `name` has just happened."""
    if os.environ.get(STOP_AT) == name:
        os.killpg(0, signal.SIGKILL)
