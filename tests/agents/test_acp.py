"""The agents that speak the Agent Client Protocol, under our client."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents import homes
from tests.agents.cases import SLEEP, Cases
from tests.support.scripted_model import Turn


class AcpCases(Cases):
    def test_a_stop_in_a_running_tool_is_taken_through_the_protocol(self) -> None:
        with self.cli(Turn("Sleeping.", SLEEP), *self.end) as (cli, _):
            ran = self.stop_in_a_tool(cli)
        result = json.loads(ran.stdout.splitlines()[-1])
        assert (ran.ended.exit_code, result["stop_reason"], result["error"]) == (130, "cancelled", "")

    def test_what_it_does_is_shown_line_by_line(self) -> None:
        with self.cli() as (cli, _):
            ran = cli.run()
        kinds = [json.loads(line)["type"] for line in ran.stdout.splitlines()]
        assert kinds[0] == "session"
        assert {"message", "tool_call"} <= set(kinds) | ({"tool_call"} if "permission" in kinds else set())
        assert kinds[-1] == "result"


class TestHermes(AcpCases):
    name = "hermes-acp"

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.hermes(home, url)


class TestOpencode(AcpCases):
    name = "opencode-acp"
    gives_up = False
    says_unauthorized = False  # it gives the provider's words alone
    reports_tokens = False

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.opencode(home, url)


class TestGemini(AcpCases):
    name = "gemini-acp"
    model = "gemini-2.5-pro"
    gives_up = False
    reports_tokens = False

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.gemini(home, url)


class TestCodex(AcpCases):
    name = "codex-acp"
    reports_tokens = False

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.codex(home, url)


class TestClaude(AcpCases):
    name = "claude-acp"
    reports_tokens = False

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.claude(home, url)
