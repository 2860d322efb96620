"""What opencode, pi, mini, gemini and agents that speak ACP printed, driven by a scripted model."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness import adapter, agent_output, shipped
from harness.agent_output import Said, Usage

RECORDED = Path(__file__).parent / "recorded"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def recorded(cli: str, case: str, exit_code: int) -> Said:
    shipped_one = adapter.load(cli, [shipped.folder("agents")])
    source, stderr = RECORDED / f"{cli}-{case}.stdout", RECORDED / f"{cli}-{case}.stderr"
    assert source.exists()
    return agent_output.read(shipped_one, source, stderr, exit_code, NOW)


@pytest.mark.parametrize(
    ("cli", "case", "exit_code", "reported"),
    [
        ("opencode", "success", 0, "success"),
        ("opencode", "refused", 1, "auth"),
        ("pi", "success", 0, "success"),
        ("pi", "refused", 1, "auth"),
        ("pi", "limited", 1, "quota"),
        ("mini", "success", 0, "success"),
        ("mini", "refused", 1, "auth"),
        ("mini", "limited", 1, "quota"),
        ("mini", "turn-limit", 0, "turn_limit"),
        ("gemini", "success", 0, "success"),
        ("gemini", "refused", 145, "auth"),
        ("gemini", "turn-limit", 53, "turn_limit"),
        ("hermes-acp", "success", 0, "success"),
        ("hermes-acp", "refused", 1, "auth"),
        ("claude-acp", "success", 0, "success"),
        ("claude-acp", "refused", 1, "auth"),
    ],
)
def test_the_outcome_is_read(cli: str, case: str, exit_code: int, reported: str) -> None:
    assert recorded(cli, case, exit_code).reported == reported


@pytest.mark.parametrize(
    ("cli", "cost_usd"),
    [("opencode", 0.000236), ("pi", 0.000236), ("mini", None), ("gemini", None), ("hermes-acp", None)],
)
def test_message_and_usage_of_all_calls_are_read(cli: str, cost_usd: float | None) -> None:
    said = recorded(cli, "success", 0)
    assert said.message == "Done: hello."
    assert said.usage == Usage(input_tokens=200, output_tokens=14, cached_tokens=80, cost_usd=cost_usd)


@pytest.mark.parametrize("cli", ["opencode", "pi", "mini", "hermes-acp", "claude-acp"])
def test_a_failure_is_told_in_the_providers_words(cli: str) -> None:
    assert "scripted 401" in recorded(cli, "refused", 1).message


@pytest.mark.parametrize("cli", ["opencode", "pi", "mini", "gemini", "hermes-acp", "claude-acp"])
def test_success_in_the_output_does_not_outweigh_the_exit_code(cli: str) -> None:
    assert recorded(cli, "success", 1).reported != "success"
