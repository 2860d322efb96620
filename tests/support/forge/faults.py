"""Failures on demand: an answer instead of the real one, a broken connection, a slow answer, too many requests."""

from __future__ import annotations

import re
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Literal

# reset: the connection breaks before anything is done. lost: it is done, and then the connection breaks.
# slow: it is done at once and answered late.
Kind = int | Literal["reset", "lost", "slow"]


@dataclass
class Fault:
    method: str
    path: re.Pattern[str]
    kind: Kind
    times: int
    seconds: float
    retry_after: str
    message: str

    def takes(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in ("*", method) and self.path.search(path) is not None


@dataclass
class Faults:
    planned: list[Fault] = field(default_factory=list)
    most: int = 0
    per_seconds: float = 60.0
    seen: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def plan(
        self,
        method: str,
        path: str,
        kind: Kind,
        times: int = 1,
        *,
        seconds: float = 1.0,
        retry_after: str = "",
        message: str = "",
    ) -> None:
        self.planned.append(Fault(method, re.compile(path), kind, times, seconds, retry_after, message))

    def next(self, method: str, path: str) -> Fault | None:
        """The first that fits, used up by one."""
        for fault in self.planned:
            if fault.takes(method, path):
                fault.times -= 1
                return fault
        return None

    def seconds_to_wait(self, who: str) -> float:
        """More than 0 where `who` asked too often; the request then does not count."""
        if not self.most:
            return 0.0
        now, asked = time.monotonic(), self.seen[who]
        while asked and asked[0] <= now - self.per_seconds:
            asked.popleft()
        if len(asked) >= self.most:
            return max(asked[0] + self.per_seconds - now, 0.001)
        asked.append(now)
        return 0.0
