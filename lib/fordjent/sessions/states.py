"""What a session can be, and what it can become: one table."""

from __future__ import annotations

from typing import Literal

from harness.errors import Failure

State = Literal["created", "working", "waiting", "blocked", "completed", "failed"]
Why = Literal["", "max_turns", "error", "budget", "no_progress", "timeout"]
"""Why a session failed; "" in every other state."""

ALLOWED: dict[State, frozenset[State]] = {
    "created": frozenset(("working",)),
    "working": frozenset(("waiting", "blocked", "completed", "failed")),
    "waiting": frozenset(("working", "blocked", "completed")),
    "blocked": frozenset(("working",)),
    "completed": frozenset(("working",)),
    "failed": frozenset(("working",)),
}
"""waiting: goes on by itself (another pull request is merged, an hour ends, or nobody wants it now);
blocked: a person has to do something; completed: what the role is for exists; failed: says why."""


class ImpossibleChange(Failure):
    """A session cannot become that from what it is."""

    code = "impossible_change"


def check(old: State, new: State, why: Why = "") -> None:
    """
    Raises:
        ImpossibleChange: `new` does not follow `old`, or a failure has no reason (or something else has one).
    """
    if new not in ALLOWED[old]:
        raise ImpossibleChange(f"a session that is {old} does not become {new}")
    if (new == "failed") != bool(why):
        raise ImpossibleChange(f"{new} with the reason {why!r} for a failure")
