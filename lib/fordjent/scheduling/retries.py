"""Failed runs that are worth another try: so many times, each later than the one before, and anew when a person acts."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from sqlalchemy import Connection

from fordjent.config import Sessions
from fordjent.deciding.actions import Input
from fordjent.sessions.states import Why
from fordjent.store import inputs, sessions
from harness.config import seconds

WORTH_IT: frozenset[Why] = frozenset(("max_turns", "error"))
"""A budget that is reached stays reached, and what made no progress or took too long would do so again."""
LONGEST_DELAY_SECONDS = 86400.0


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """`number` of `most`; `at`: seconds since 1970."""

    at: float
    number: int
    most: int

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.at, UTC).strftime("%H:%M")
        return f"It is tried again by itself at {when} UTC ({self.number} of {self.most})."


def after(config: Sessions, why: Why, failures: int, now: float, *, lasting: bool = False) -> Retry | None:
    """What follows a failure, with so many before it since a person last acted; None: a person is needed.

    `lasting`: the same would come of it again, as of a key that is refused.
    """
    if why not in WORTH_IT or lasting or failures >= config.max_retries:
        return None
    delay = min(seconds(config.retry_delay) * 2 ** min(failures, 30), LONGEST_DELAY_SECONDS)
    return Retry(at=now + delay, number=failures + 1, most=config.max_retries)


def plan(connection: Connection, key: str, run: str, reason: str, retry: Retry, now: float) -> None:
    """Let the session go on then. In the transaction that writes the failure down."""
    session = sessions.get(connection, key)
    assert session
    text = f"Attempt {retry.number} of {retry.most} after a failure. The last run ended so: {reason}"
    told = Input(kind="retry", source=f"retry:{run}", text=text, at=now)
    inputs.feed(connection, key, session.role, told, None, now, 0.0, by_person=False, not_before=retry.at)
