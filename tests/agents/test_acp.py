"""The agents that speak the Agent Client Protocol, under our client."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents import homes
from tests.agents.cases import Cases
from tests.support.cli_under_test import Ran


class AcpCases(Cases):
    def look_at_what_was_stopped(self, ran: Ran) -> None:
        """It was shown line by line, and stopped through the protocol."""
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        kinds = [line["type"] for line in lines]
        assert kinds[0] == "session"
        assert {"message", "cancelling"} <= set(kinds)
        assert (ran.ended.exit_code, lines[-1]["stop_reason"], lines[-1]["error"]) == (130, "cancelled", "")


class TestHermes(AcpCases):
    name = "hermes-acp"

    def settle(self, home: Path, url: str) -> dict[str, str]:
        return homes.hermes(home, url)


class TestOpencode(AcpCases):
    name = "opencode-acp"
    gives_up = False
    says_unauthorized = False  # it gives the provider's words alone
    reports_tokens = False
    reports_cost = True

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
