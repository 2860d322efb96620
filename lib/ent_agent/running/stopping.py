"""Ask a run of this state folder to stop: its work is kept and pushed, its attempt does not count.

The request is a file in the run's folder, which the run's watch looks at once a second.
The issue stays as it is, so the loop takes it up again at its next pass: to keep it
stopped, pause the loop or give the issue to somebody else first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import EndedBy
from ent_agent.running import runs
from ent_agent.running.runs import Run
from harness import atomic, lock
from harness.config import seconds
from harness.errors import BadData
from harness.sweeping import sweep

POLL_SECONDS = 0.2
FINISHING_SECONDS = 60.0
"""What the run may take for its commit and push, after the agent's own grace."""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking. "saved": its work is pushed or kept; "ended": the agent has, the rest is to be
    finished by `ent-agent-finalize --pending`; "asked": it has not ended in time; "dead": it had died."""

    issue: str
    run: str
    outcome: Literal["saved", "ended", "asked", "dead"]


def stop(config: Config, issue: str, *, now: bool = False, wait_seconds: float | None = None) -> Stop | None:
    """Stop the run of an issue (an id or a unique prefix) and wait for its end; None: none is on.

    `now`: without the agent's grace. `wait_seconds` None: as long as that may take.

    Raises:
        BadData: no issue of that name was ever worked here, or several are.
    """
    run = _newest(config, issue)
    if run.phase == "finalized":
        return None
    if lock.is_free(state.of(config).issue_lock(run.issue)) and run.phase != "ran":
        return Stop(issue=run.issue, run=run.id, outcome="dead")
    if wait_seconds is None:
        wait_seconds = seconds(config.limits.kill_grace) + FINISHING_SECONDS
    deadline = time.monotonic() + wait_seconds
    request = _request(config, run.id)
    if run.phase != "ran":
        atomic.write_bytes(request, b"now\n" if now else b"stop\n")
    while time.monotonic() < deadline:
        run = runs.load(config, run.id)
        if run.phase == "finalized":
            return Stop(issue=run.issue, run=run.id, outcome="saved")
        if now and run.phase == "running" and not request.exists():
            sweep(run.id)  # the watch has seen it: the ladder has begun, and need not be waited for
        time.sleep(POLL_SECONDS)
    return Stop(issue=run.issue, run=run.id, outcome="ended" if run.phase == "ran" else "asked")


def heeding(config: Config, run_id: str, watch: Callable[[], EndedBy | None]) -> Callable[[], EndedBy | None]:
    """`watch`, which ends the run too when somebody has asked for that."""
    request = _request(config, run_id)

    def heed() -> EndedBy | None:
        if request.exists():
            request.unlink(missing_ok=True)
            return "interrupted"
        return watch()

    return heed


def _newest(config: Config, issue: str) -> Run:
    found = runs.named(runs.every(config), issue)
    if not found:
        raise BadData(
            f"issue {issue} was never worked here", hint="`ent-agent-status` shows what is being worked"
        )
    return found[-1]


def _request(config: Config, run_id: str) -> Path:
    return state.of(config).run(run_id) / "stop"
