from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness import adapter, agent_output, shipped
from harness.adapter import Adapter
from harness.agent_output import Said, Usage

RECORDED = Path(__file__).parent / "recorded"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def recorded(cli: str, case: str, exit_code: int) -> Said:
    """What is read out of what a real CLI printed, driven by a scripted model."""
    shipped_one = adapter.load(cli, [shipped.folder("agents")])
    stdout, stderr = RECORDED / f"{cli}-{case}.stdout", RECORDED / f"{cli}-{case}.stderr"
    assert stdout.exists()
    return agent_output.read(shipped_one, stdout, stderr, exit_code, NOW)


def read(place: Path, text: str, stdout: bytes, exit_code: int | None = 0, stderr: bytes = b"") -> Said:
    (place / "robot.toml").write_text(f'command = ["robot"]\n{text}', encoding="utf-8")
    (place / "out").write_bytes(stdout)
    (place / "err").write_bytes(stderr)
    return agent_output.read(own(place), place / "out", place / "err", exit_code, NOW)


def own(place: Path) -> Adapter:
    return adapter.load(str(place / "robot.toml"), [])


@pytest.mark.parametrize(
    ("cli", "case", "exit_code", "reported"),
    [
        ("hermes", "success", 0, ""),  # it has nothing but the exit code to say so
        ("hermes", "refused", 1, "auth"),
        ("hermes", "limited", 1, "quota"),
        ("hermes", "broken", 1, ""),
        ("hermes", "turn-limit", 0, "turn_limit"),
        ("codex", "success", 0, "success"),
        ("codex", "refused", 1, "auth"),
        ("codex", "limited", 1, "quota"),
        ("codex", "broken", 1, "error"),
        ("claude", "success", 0, "success"),
        ("claude", "refused", 1, "auth"),
        ("claude", "limited", 1, "quota"),
        ("claude", "broken", 1, "error"),
        ("claude", "turn-limit", 1, "turn_limit"),
    ],
)
def test_what_the_real_clis_printed_is_understood(cli: str, case: str, exit_code: int, reported: str) -> None:
    said = recorded(cli, case, exit_code)
    assert said.reported == reported
    if case != "turn-limit" or cli != "claude":
        assert said.message


@pytest.mark.parametrize("cli", ["codex", "claude"])
def test_usage_of_the_real_clis_is_read(cli: str) -> None:
    said = recorded(cli, "success", 0)
    assert said.message == "Done: hello."
    assert said.usage.input_tokens == 300, "without the cached ones"
    assert said.usage.cached_tokens == 120
    assert said.usage.output_tokens == 21
    assert (said.usage.cost_usd is not None) == (cli == "claude")


@pytest.mark.parametrize("cli", ["codex", "claude"])
def test_success_in_the_output_does_not_outweigh_the_exit_code(cli: str) -> None:
    assert recorded(cli, "success", 1).reported != "success"


# ---- formats

JSONL = """
[output]
format = "jsonl"
message = "type == 'text' && text"
success = "type == 'end'"
error = "type == 'error' && message"
input_tokens = "usage.in"
output_tokens = "usage.out"
cost_usd = "usage.usd"
[failure]
quota = ["out of credit"]
resume_at = 'back at (\\S+)'
"""


def test_of_json_lines_the_last_message_counts_and_numbers_are_summed(place: Path) -> None:
    lines = (
        b'{"type": "text", "text": "First."}\n'
        b'{"type": "turn", "usage": {"in": 10, "out": 1, "usd": 0.5}}\nnot json\n[1, 2]\n"text"\nnull\n'
        b'{"type": "text", "text": "Last."}\n{"type": "turn", "usage": {"in": 5, "out": 2, "usd": 0.25}}\n{"type": "end"}'
    )
    said = read(place, JSONL, lines)
    assert said == Said("success", "Last.", Usage(15, 3, None, 0.75))


def test_without_the_sign_of_success_a_run_is_a_failure_whatever_the_exit_code(place: Path) -> None:
    assert read(place, JSONL, b'{"type": "text", "text": "I am done."}').reported == "error"
    assert read(place, JSONL, b"").reported == "error"


def test_a_sign_of_error_is_a_failure_whatever_else_is_said(place: Path) -> None:
    said = read(place, JSONL, b'{"type": "error", "message": "broken"}\n{"type": "end"}')
    assert said.reported == "error"
    assert said.message == "broken"


def test_quota_is_read_from_the_error_and_not_from_what_the_agent_talks_about(place: Path) -> None:
    talk = b'{"type": "text", "text": "The shop is out of credit, says the issue."}\n'
    assert read(place, JSONL, talk + b'{"type": "end"}').reported == "success"
    assert read(place, JSONL, talk + b'{"type": "error", "message": "broken"}').reported == "error"
    failed = b'{"type": "error", "message": "out of credit, back at 2026-12-01T08:00:00Z"}'
    said = read(place, JSONL, talk + failed)
    assert (said.reported, said.resume_at) == ("quota", "2026-12-01T08:00:00+00:00")


def test_what_is_printed_beside_the_json_counts_as_complaint(place: Path) -> None:
    assert read(place, JSONL, b"fatal: out of credit\n", 1).reported == "quota"
    assert read(place, JSONL, b"", 1, stderr=b"fatal: out of credit\n").reported == "quota"


JSON = """
[output]
format = "json"
message = "result"
success = "ok"
input_tokens = "subtract(usage.all, usage.cached)"
"""


@pytest.mark.parametrize(
    "around", [b"%s", b"%s\n", b"\n%s", b"Welcome!\n%s\n", b'%s\nlog\n"bye"\n', b"{broken\n%s"]
)
def test_a_json_document_is_found_also_among_other_lines(place: Path, around: bytes) -> None:
    document = b'{"ok": true, "result": "Done.", "usage": {"all": 10, "cached": 4}}'
    assert read(place, JSON, around % document) == Said("success", "Done.", Usage(6))


def test_a_json_document_may_span_lines(place: Path) -> None:
    assert read(place, JSON, b'{\n "ok": true,\n "result": "Done."\n}\n').message == "Done."


def test_output_that_is_no_text_does_not_end_the_reading(place: Path) -> None:
    assert read(place, "", b"lone \xf0 and cut \xc3").message == "lone \ufffd and cut \ufffd"
    assert read(place, JSONL, b'{"type": "text", "text": "\xff"}').message == "\ufffd"


def test_a_line_without_end_is_passed_over_and_the_next_is_read(place: Path) -> None:
    long = b'{"type": "text", "text": "' + b"x" * agent_output.LINE_BYTES + b'"}\n'
    assert read(place, JSONL, long + b'{"type": "text", "text": "short"}\n').message == "short"


@pytest.mark.parametrize("format_", [JSONL, JSONL.replace("jsonl", "json")], ids=["jsonl", "json"])
def test_what_is_nested_without_end_is_passed_over_and_the_next_is_read(place: Path, format_: str) -> None:
    nested = b"[" * 100_000 + b"]" * 100_000
    assert read(place, format_, nested + b'\n{"type": "text", "text": "short"}\n').message == "short"


@pytest.mark.parametrize("usage", [b"-1", b'"many"', b"true", b"1e300", b"null", b"[1]"])
def test_a_number_that_is_none_is_not_reported(place: Path, usage: bytes) -> None:
    assert read(place, JSONL, b'{"usage": {"in": %s}}' % usage).usage == Usage()


def test_only_the_end_of_a_long_output_is_searched_for_failures(place: Path) -> None:
    text = '[failure]\nturn_limit = ["too many turns"]'
    assert read(place, text, b"too many turns\n" + b"work\n" * 10_000).reported == ""
    assert read(place, text, b"work\n" * 10_000 + b"too many turns\n").reported == "turn_limit"


def test_a_missing_output_says_nothing(place: Path) -> None:
    (place / "robot.toml").write_text('command = ["robot"]')
    said = agent_output.read(own(place), place / "no", place / "such", None, NOW)
    assert said == Said()


@pytest.mark.parametrize("format_", ["text", "jsonl"])
def test_an_output_that_is_a_link_or_a_pipe_is_not_read(place: Path, format_: str) -> None:
    """An agent may put in its place what it cannot read itself, or what never ends."""
    (place / "robot.toml").write_text(f'command = ["robot"]\n[output]\nformat = "{format_}"')
    (place / "secret").write_text('"secret"')
    (place / "link").symlink_to(place / "secret")
    os.mkfifo(place / "pipe")
    for name in ("link", "pipe"):
        assert agent_output.read(own(place), place / name, place / name, 0, NOW) == Said()


@pytest.mark.parametrize("printed", [b"", b"oops", b"[1]", b'{"input_tokens": "x"}', b"\xff", b"[" * 100_000])
def test_a_usage_command_that_prints_nonsense_changes_nothing(printed: bytes) -> None:
    before = Usage(input_tokens=1, cost_usd=0.5)
    assert agent_output.usage_from(printed, before) == before


def test_a_usage_command_fills_in_what_it_knows() -> None:
    printed = b'{"input_tokens": 7, "cost_usd": null, "model": "big"}'
    assert agent_output.usage_from(printed, Usage(cost_usd=0.5)) == Usage(input_tokens=7, cost_usd=0.5)
