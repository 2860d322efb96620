from __future__ import annotations

from pathlib import Path

from tests.agents import homes
from tests.agents.cases import Cases


class TestPi(Cases):
    name = "pi"
    has_turn_limit = False
    reports_cost = True

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.pi(home, url)
