from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agents import homes
from tests.agents.cases import DAEMON, Cases
from tests.support.scripted_model import MODEL, Turn


class TestBuiltin(Cases):
    name = "builtin"
    reports_cost = True

    def settle(self, home: Path, url: str) -> dict[str, str]:
        provider: dict[str, Any] = {"base_url": f"{url}/v1", "api_key": "${MODEL_KEY}", "model": MODEL}
        provider |= {"max_retries": 1, "retry_base_delay": "50ms", "input_usd_per_million": 1.0}
        lines = [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
        (home / "config.toml").write_text("\n".join(["[providers.main]", *lines, ""]))
        return {"MODEL_KEY": homes.KEY}

    def test_a_daemon_that_it_leaves_behind_is_ended(self) -> None:
        with self.cli(Turn("Starting.", DAEMON), *self.end) as (cli, _):
            ran = cli.run()
        assert ran.said.reported == self.success
        assert ran.ended.swept == (), "its shell tool has ended it already"
        assert not Path(f"/proc/{int((self.place / 'daemon').read_text())}").exists()
