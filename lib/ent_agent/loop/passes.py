"""What happened in one pass of the loop, and the exit code that it makes for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ent_agent.records import ErrorSection, Record
from harness.errors import (
    EX_CONFIG,
    EX_DATAERR,
    EX_NOPERM,
    EX_SOFTWARE,
    EX_TEMPFAIL,
    EX_UNAVAILABLE,
)

WORST_LAST = (0, EX_TEMPFAIL, EX_UNAVAILABLE, EX_DATAERR, EX_SOFTWARE, EX_NOPERM, EX_CONFIG)
AGENT_IS_OUT = {"quota": EX_TEMPFAIL, "auth": EX_NOPERM}
"""Outcomes after which no further run is started, and the exit codes that they make for."""


@dataclass
class Pass:
    """What happened since the last look at everything."""

    exit_code: int = 0
    retry: bool = False
    """Something failed that may go better by itself: git, the network, a refused push."""
    agent_is_out: bool = False
    worked: int = 0
    times: Counter[str] = field(default_factory=Counter)
    given_up: set[str] = field(default_factory=set)
    """Issues that a step failed on: not tried again in this pass."""

    def note(self, exit_code: int, *, retry: bool = False) -> None:
        rank = WORST_LAST.index
        known = exit_code if exit_code in WORST_LAST else EX_SOFTWARE
        self.exit_code = max(self.exit_code, known, key=rank)
        self.retry |= retry

    def note_error(self, error: ErrorSection) -> None:
        if error.code != "busy":  # somebody else is at it: that is no failure of ours
            self.note(error.exit_code, retry=error.retry)

    def note_end(self, record: Record, *, late: bool = False) -> None:
        """A record that went through finalize; `late`: of a run that an earlier loop left."""
        if record.run and record.run.ended_by == "interrupted" and record.issue and not late:
            self.given_up.add(record.issue.id)
        if record.result and record.result.outcome in AGENT_IS_OUT:
            self.agent_is_out = True
            self.note(AGENT_IS_OUT[record.result.outcome])
        elif record.error and record.issue:
            self.given_up.add(record.issue.id)
            self.note_error(record.error)
