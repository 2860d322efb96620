"""An adapter with `protocol = "acp"`: how its agent is started, and how what our client prints is read."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from harness import adapter, agent_output, invocation
from harness.acp import adapted
from harness.acp.outcome import EXIT_CODES, Result, StopReason, Usage
from harness.adapter import Adapter
from harness.agent_output import Said
from harness.errors import BadConfig, Missing
from harness.invocation import Setting

SMALLEST = 'command = ["cat", "--acp"]\nprotocol = "acp"\n'


def own(place: Path, text: str) -> Adapter:
    (place / "robot.toml").write_text(text, encoding="utf-8")
    return adapter.load(str(place / "robot.toml"), [])


def argv(place: Path, text: str, model: str = "", max_turns: int = 0) -> list[str]:
    """The words from our client's options on."""
    folders = dict.fromkeys(
        ("prompt_file", "worktree", "git_dir", "git_common_dir", "config_dir", "run_dir"), place / "there"
    )
    setting = Setting(prompt="Do it.", issue_id="1a2b", model=model, max_turns=max_turns, **folders)
    invoked = invocation.prepare(own(place, text), setting, os.environ["PATH"])
    assert invoked.stdin == place / "there"
    assert invoked.argv[1:3] == ["-I", str(adapted.CLIENT)]
    return invoked.argv[3:]


def said(place: Path, text: str, result: Result) -> Said:
    """What is read out of a run that ended so, with talk before it that looks like a result."""
    talk = {"type": "message", "text": "auth_required: HTTP 429", "usage": {"input_tokens": 9}}
    lines = [json.dumps(talk).encode(), json.dumps({"type": "session"}).encode()]
    (place / "out").write_bytes(b"\n".join([*lines, msgspec.json.encode(result)]))
    (place / "err").touch()
    now = datetime(2026, 11, 30, tzinfo=UTC)
    return agent_output.read(own(place, text), place / "out", place / "err", result.exit_code, now)


def test_the_agents_command_stands_behind_our_clients(place: Path) -> None:
    before, _, agent = " ".join(argv(place, SMALLEST)).partition(" -- ")
    assert before == "--permission allow"
    assert agent.endswith("/cat --acp")


def test_model_turns_and_the_keys_of_acp_become_options(place: Path) -> None:
    table = "[acp]\npermission = 'reject'\nmode = 'ask'\nusage_expected = true\nfailure_text = '^HTTP'\n"
    words = argv(place, SMALLEST + table, model="large", max_turns=7)
    assert words[: words.index("--")] == [
        *("--permission", "reject", "--mode", "ask", "--model", "large", "--max-turns", "7"),
        *("--usage-expected", "--failure-text", "^HTTP"),
    ]


def test_an_agent_that_takes_the_model_as_an_option_is_not_asked_by_the_protocol(place: Path) -> None:
    words = argv(place, SMALLEST + 'model_args = ["-m", "{model}"]', model="large")
    assert words[:3] == ["--permission", "allow", "--"]
    assert words[-3:] == ["--acp", "-m", "large"]


def test_a_missing_agent_is_missing_before_anything_is_started(place: Path) -> None:
    with pytest.raises(Missing, match="no-such-agent"):
        argv(place, 'command = ["no-such-agent"]\nprotocol = "acp"')


@pytest.mark.parametrize(
    ("stop_reason", "reported"),
    [
        ("end_turn", "success"),
        ("error", "error"),
        ("refusal", "error"),
        ("max_tokens", "error"),
        ("max_turn_requests", "turn_limit"),
        ("auth_required", "auth"),
        ("cancelled", "error"),
    ],
)
def test_each_stop_reason_is_reported(place: Path, stop_reason: StopReason, reported: str) -> None:
    assert said(place, SMALLEST, Result(stop_reason=stop_reason, message="So.")).reported == reported
    assert stop_reason in EXIT_CODES


def test_message_and_usage_are_those_of_the_result(place: Path) -> None:
    usage = Usage(input_tokens=10, output_tokens=2, cached_tokens=3, cost_usd=0.5)
    read = said(place, SMALLEST, Result(stop_reason="end_turn", message="Done.", usage=usage))
    assert read.message == "Done."
    assert read.usage == agent_output.Usage(10, 2, 3, 0.5)


def test_an_error_is_the_message(place: Path) -> None:
    read = said(place, SMALLEST, Result(stop_reason="error", message="Working …", error="out of credit"))
    assert read.message == "out of credit"


def test_what_the_adapter_says_itself_stands(place: Path) -> None:
    more = (
        "[output]\ninput_tokens = \"type == 'result' && subtract(usage.input_tokens, usage.cached_tokens)\"\n"
        "[failure]\nquota = ['^error: out of credit']\n"
    )
    usage = Usage(input_tokens=10, cached_tokens=3)
    read = said(place, SMALLEST + more, Result(stop_reason="error", usage=usage, error="out of credit"))
    assert (read.reported, read.usage.input_tokens) == ("quota", 7)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (SMALLEST + 'prompt = "file"', "prompt: must be"),
        ('command = ["cat"]\n[acp]\nmode = "ask"', "acp: needs protocol"),
        (SMALLEST + "[acp]\nfailure_text = '('", "acp.failure_text: '\\(' is no regular expression"),
        (SMALLEST + "[acp]\npermission = 'maybe'", "acp.permission"),
        (SMALLEST + "[acp]\nmodes = 'ask'", "acp.modes: unknown key"),
    ],
)
def test_a_fault_is_named_with_its_key(place: Path, text: str, fault: str) -> None:
    with pytest.raises(BadConfig, match=fault):
        own(place, text)
