"""A circuit breaker: an endpoint that failed often in a row is left alone for a while, then tried by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fordjent.models.endpoint import AttemptFailed

FAILURES = 5
"""In a row, of whatever conversation, until it opens."""
OPEN_SECONDS = 30.0
PROBE_SECONDS = 1.0
"""How soon to look again while somebody else tries."""


class Breaker:
    """Of one endpoint, for all conversations of the process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._failures >= FAILURES and (self._probing or self._clock() < self._open_until)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Around one attempt, whose outcome it learns by what is raised.

        Raises:
            AttemptFailed: kind open; it is not to be asked now.
        """
        if self.is_open:
            wait = PROBE_SECONDS if self._probing else self._open_until - self._clock()
            raise AttemptFailed("open", "failed too often just now; left alone", retry_after_seconds=wait)
        probe = self._failures >= FAILURES
        self._probing = self._probing or probe
        try:
            yield
        except AttemptFailed as failed:
            self._failures = self._failures + 1 if failed.kind == "broken" else 0
            if self._failures >= FAILURES:
                self._open_until = self._clock() + OPEN_SECONDS
            raise
        else:
            self._failures = 0
        finally:
            if probe:
                self._probing = False
