from __future__ import annotations

from pathlib import Path

from tests.agents import homes
from tests.agents.cases import Cases


class TestPi(Cases):
    name = "pi"
    has_turn_limit = False

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.pi(home, url)

    def test_a_cost_is_read(self) -> None:
        with self.cli() as (cli, _):
            cost = cli.run().said.usage.cost_usd
        assert cost and 0.0002 < cost < 0.0003
