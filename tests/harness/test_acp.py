"""The client of the Agent Client Protocol, against a stand-in agent in all its moods."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness.acp
from harness.acp.outcome import EXIT_CODES, FailureSigns, Result
from harness.acp.progress import Progress
from harness.acp.session import Options, converse
from harness.errors import Missing

AGENT = Path(__file__).parents[1] / "support/agents/acp_agent.py"
COMMAND = Path(harness.acp.__file__).parent / "__main__.py"
HARMLESS = "Please work."


class Talk:
    """A conversation that took place: the lines that were shown, and how it ended."""

    def __init__(self, scenario: str, prompt: str = HARMLESS, **options: Any) -> None:
        out = io.BytesIO()
        command = (sys.executable, str(AGENT), scenario)
        self.result: Result = asyncio.run(converse(Options(command, **options), prompt, Progress(out)))
        self.printed = out.getvalue()
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in self.printed.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]

    @property
    def text(self) -> str:
        return "".join(line["text"] for line in self.of("message"))


@pytest.fixture(autouse=True)
def in_a_folder(place: Path) -> Path:
    return place


def requests(place: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / "requests.jsonl").read_text().splitlines()]


def test_a_turn_is_shown_as_it_happens_and_ends_with_the_result(place: Path) -> None:
    talk = Talk("normal")
    kinds = [line["type"] for line in talk.lines]
    assert kinds == ["session", "message", "tool_call", "tool_call_update", "cost", "message", "result"]
    assert talk.of("message")[0]["text"] == "Creating the file."
    assert talk.of("tool_call")[0]["title"] == "terminal: echo hello > hello.txt"
    assert talk.lines[-1] == {
        "type": "result",
        "stop_reason": "end_turn",
        "message": "Done: hello.txt is there.",
        "usage": {"input_tokens": 1000, "output_tokens": 70, "cached_tokens": 200, "cost_usd": 0.0125},
        "turns": 1,
        "error": "",
    }
    assert talk.result.exit_code == 0
    assert (place / "hello.txt").read_text() == "hello\n"


def test_the_session_is_opened_in_the_current_folder_and_offers_nothing(place: Path) -> None:
    Talk("normal")
    hello, opening, prompt = requests(place)
    assert hello["params"]["protocolVersion"] == 1
    assert "fs" not in hello["params"].get("clientCapabilities", {})
    assert opening["params"] == {"cwd": str(place), "mcpServers": []}
    assert prompt["params"]["prompt"] == [{"type": "text", "text": HARMLESS}]


@pytest.mark.parametrize(
    ("policy", "kinds"),
    [("allow", ["allow_once", "allow_always"]), ("reject", ["reject_once", "reject_always"])],
)
def test_permission_is_answered_by_policy_and_for_this_once_where_that_can_be(
    policy: str, kinds: list[str]
) -> None:
    talk = Talk("asks", policy=policy)
    assert [line["answer"] for line in talk.of("permission")] == kinds
    assert [line["tool"] for line in talk.of("permission")] == ["rm -r a1", "rm -r a2"]
    assert [outcome["optionId"] for outcome in json.loads(talk.text)] == [f"id of {kind}" for kind in kinds]


def test_what_asks_for_permission_counts_as_a_turn() -> None:
    assert Talk("asks").result.turns == 2


def test_files_and_terminals_are_denied_and_the_agent_goes_on() -> None:
    talk = Talk("wants_files")
    assert json.loads(talk.text) == [-32601] * 3
    assert [line["method"] for line in talk.of("denied")] == [
        "fs/read_text_file",
        "terminal/create",
        "elicitation/create",
    ]
    assert talk.result.stop_reason == "end_turn"


def test_what_is_no_message_is_dropped_and_marked_and_the_agent_goes_on() -> None:
    talk = Talk("babbles")
    assert talk.of("dropped")[0]["bytes"] > 60_000_000
    assert [line["why"] for line in talk.of("dropped")] == [
        "longer than the limit of a line",
        *["not a JSON-RPC message"] * 5,
    ]
    assert talk.of("hologram") == [{"type": "hologram"}]
    assert talk.result.message == "Still ? here."
    assert talk.result.stop_reason == "end_turn"


def test_output_that_an_agent_repeats_does_not_grow_with_its_square() -> None:
    talk = Talk("repeats")
    assert "".join(line["text"] for line in talk.of("thought")) == "hm " * 5000
    assert len(talk.printed) < 60_000
    assert max(len(line) for line in talk.printed.splitlines()) < 10_000
    assert "characters" in talk.of("tool_call_update")[-1]["output"]


def test_a_text_of_megabytes_is_shown_in_lines_and_its_end_is_the_message() -> None:
    began = time.monotonic()
    talk = Talk("shouts")
    assert len(talk.text) == 21_000_000
    assert max(len(line) for line in talk.printed.splitlines()[:-1]) < 5_000
    assert len(talk.result.message) < 60_001
    assert talk.result.message.endswith("Done!")
    assert time.monotonic() - began < 20


def test_one_tool_call_more_than_the_limit_cancels_the_turn() -> None:
    talk = Talk("loops", max_turns=3)
    assert talk.result.stop_reason == "max_turn_requests"
    assert talk.result.turns == 4
    assert talk.of("cancelling") == [{"type": "cancelling", "reason": "max_turn_requests"}]


def test_as_many_tool_calls_as_the_limit_are_no_matter() -> None:
    assert Talk("asks", max_turns=2).result.stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("said", "exit_code"), [("refusal", 3), ("max_tokens", 4), ("max_turn_requests", 5), ("cancelled", 130)]
)
def test_each_stop_reason_has_its_exit_code(said: str, exit_code: int) -> None:
    result = Talk("stops", prompt=said).result
    assert (result.stop_reason, result.exit_code) == (said, exit_code)


def test_no_two_stop_reasons_share_an_exit_code() -> None:
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)


@pytest.mark.parametrize(
    ("scenario", "stop_reason", "error"),
    [
        (
            "fails",
            "error",
            'Internal error (code -32603): {"details": "stream disconnected before completion"}',
        ),
        ("refused_by_provider", "auth_required", "API key not valid (code 401)"),
        ("needs_login", "auth_required", "Authentication required (code -32000)"),
        ("dies_at_once", "error", "the agent ended with exit code 2 before it answered"),
        ("unheard_of", "error", "validation error"),
    ],
)
def test_a_failure_is_told_in_the_agents_words(scenario: str, stop_reason: str, error: str) -> None:
    result = Talk(scenario).result
    assert result.stop_reason == stop_reason
    assert error in result.error
    assert result.exit_code == EXIT_CODES[result.stop_reason] != 0


@pytest.mark.parametrize("scenario", ["provider_failed", "provider_failed_silently"])
def test_a_provider_failure_that_the_agent_passes_off_as_success_is_found(scenario: str) -> None:
    signs = FailureSigns(no_usage=True, text=r"^API call failed|HTTP \d{3}")
    assert Talk(scenario, signs=signs).result.stop_reason == "error"
    assert Talk(scenario).result.stop_reason == "end_turn"


def test_signs_of_failure_do_not_touch_a_turn_that_went_well() -> None:
    assert Talk("normal", signs=FailureSigns(no_usage=True, text="^API")).result.stop_reason == "end_turn"


def test_a_session_that_is_never_opened_is_given_up() -> None:
    result = Talk("opens_no_session", start_seconds=0.3).result
    assert (result.stop_reason, result.error) == ("error", "the agent opened no session within 0.3 s")


def test_an_agent_that_dies_in_a_tool_is_noticed_though_the_tool_holds_its_output() -> None:
    began = time.monotonic()
    talk = Talk("dies_in_a_tool")
    os.kill(int(talk.text.removeprefix("pid ")), signal.SIGKILL)
    assert talk.result.error == "the agent ended with exit code 3 before it answered"
    assert talk.result.turns == 1
    assert time.monotonic() - began < 10


def test_what_stays_in_the_agents_group_ends_with_it() -> None:
    child = int(Talk("leaves_a_child").text)
    assert soon(lambda: not is_alive(child))


def test_a_prompt_of_300_kb_arrives_whole(place: Path) -> None:
    assert Talk("measures", prompt="wörk" * 75_000).text == f"300000 {place}"


def test_model_and_mode_are_asked_of_the_agent(place: Path) -> None:
    Talk("measures", model="large", mode="yolo")
    asked = {request["method"]: request["params"] for request in requests(place)}
    assert asked["session/set_mode"] == {"sessionId": "s1", "modeId": "yolo"}
    assert asked["session/set_config_option"] == {"sessionId": "s1", "configId": "model", "value": "large"}


def test_an_agent_without_options_is_asked_for_the_model_in_the_old_way(place: Path) -> None:
    Talk("normal", model="large")
    asked = {request["method"]: request["params"] for request in requests(place)}
    assert asked["session/set_model"] == {"sessionId": "s1", "modelId": "large"}


def test_a_command_that_is_not_there_is_missing() -> None:
    with pytest.raises(Missing, match="no-such-agent"):
        asyncio.run(converse(Options(("no-such-agent",)), HARMLESS, Progress(io.BytesIO())))


# ---- as a program


class Running:
    """The command with a stand-in agent, running, up to its first tool call."""

    def __init__(self, scenario: str, *options: str) -> None:
        self.process = start(scenario, *options)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(HARMLESS.encode())
        self.process.stdin.close()
        self.lines: list[dict[str, Any]] = []
        while not self.lines or self.lines[-1]["type"] != "tool_call":
            self.lines.append(json.loads(self.process.stdout.readline()))

    def signal(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def end(self) -> int:
        """Read to the end; the exit code."""
        assert self.process.stdout
        self.lines += [json.loads(line) for line in self.process.stdout.read().splitlines()]
        return self.process.wait(timeout=20)


def start(scenario: str, *options: str) -> subprocess.Popen[bytes]:
    agent = ["--", sys.executable, str(AGENT), scenario]
    return subprocess.Popen(
        [sys.executable, "-I", str(COMMAND), *options, *agent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_group_cancels_the_turn_through_the_protocol(place: Path, number: int) -> None:
    running = Running("waits")
    running.signal(number)
    assert running.end() == 130
    assert running.lines[-1]["stop_reason"] == "cancelled"
    assert running.lines[-1]["message"] == "Stopped."
    assert requests(place)[-1]["method"] == "session/cancel"


def test_an_internal_error_after_our_own_cancellation_is_a_cancellation() -> None:
    running = Running("breaks_on_cancel")
    running.signal(signal.SIGTERM)
    assert running.end() == 130
    assert running.lines[-1]["stop_reason"] == "cancelled"


def test_an_agent_that_ignores_the_cancellation_is_ended_in_a_bounded_time() -> None:
    running = Running("ignores_cancel", "--cancel-timeout", "0.3")
    began = time.monotonic()
    running.signal(signal.SIGTERM)
    assert running.end() == 130
    assert running.lines[-1]["error"] == "the agent did not answer the cancellation"
    assert time.monotonic() - began < 10


def test_a_second_signal_does_not_wait() -> None:
    running = Running("ignores_cancel", "--cancel-timeout", "60")
    running.signal(signal.SIGINT)
    time.sleep(0.3)
    running.signal(signal.SIGINT)
    assert running.end() == 130


def test_an_agent_dies_with_its_client() -> None:
    running = Running("ignores_cancel")
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
    assert len(children) == 1
    running.signal(signal.SIGKILL)
    running.process.wait()
    assert soon(lambda: not is_alive(int(children[0])))


def test_a_reader_that_goes_away_ends_the_turn() -> None:
    running = Running("loops")
    assert running.process.stdout
    running.process.stdout.close()
    assert running.process.wait(timeout=20) == 130


def test_the_command_needs_an_agent() -> None:
    done = subprocess.run(
        [sys.executable, "-I", COMMAND], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 64
    assert b"agent command" in done.stderr


def test_an_unknown_option_is_a_usage_error() -> None:
    process = start("normal", "--permission", "maybe")
    process.communicate()
    assert process.returncode == 64


def test_the_current_folder_is_not_searched_for_modules(place: Path) -> None:
    (place / "json.py").write_text("raise SystemExit('planted')\n")
    (place / "harness").mkdir()
    process = start("normal")
    out, _ = process.communicate(HARMLESS.encode())
    assert process.returncode == 0
    assert json.loads(out.splitlines()[-1])["stop_reason"] == "end_turn"


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def soon(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 5
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()
