"""How fast a process may ask: so many requests a minute, with a burst, in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

BURST_SECONDS = 10.0
"""What was not used of this time may be used at once."""


class Pace:
    """A token bucket that lets its callers through one after the other."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = monotonic) -> None:
        self._apart = 60.0 / per_minute
        self._burst = max(BURST_SECONDS - self._apart, 0.0)
        self._clock = clock
        self._next = clock()
        """When a bucket without burst would let the next one through."""

    def delay(self) -> float:
        """Take a place in the queue; the seconds until it is reached."""
        now = self._clock()
        place = max(self._next, now)
        self._next = place + self._apart
        return max(place - self._burst - now, 0.0)

    def pause(self, seconds: float) -> None:
        """Nobody more for so long: the server said that it is too much."""
        self._next = max(self._next, self._clock() + seconds + self._burst)

    async def turn(self) -> None:
        """Wait for a place."""
        seconds = self.delay()
        if seconds:
            await asyncio.sleep(seconds)
