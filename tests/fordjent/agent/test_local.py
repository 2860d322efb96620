"""fordjent-agent in a folder, as a program: real tools, a scripted model, events and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from harness.git import environment
from tests.support.model_endpoint import ModelEndpoint, refuses, says

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-the-key-of-the-model-1"


def configure(place: Path, base_url: str, more: str = "") -> Path:
    path = place / "config.toml"
    path.write_text(
        'webhook.secret = "${NOT_SET_ANYWHERE}"\n[providers.main]\n'
        f'base_url = {json.dumps(base_url)}\nmodel = "stand-in"\napi_key = "${{MODEL_KEY}}"\n'
        "max_retries = 0\ninput_usd_per_million = 1.0\noutput_usd_per_million = 2.0\n" + more
    )
    return path


def script(place: Path, *rules: dict[str, Any]) -> Path:
    (place / "script.json").write_text(json.dumps({"rules": rules}))
    return configure(place, "scripted:script.json")


@pytest.fixture
def folder(place: Path) -> Path:
    """A repository to work in."""
    work = place / "wörk"
    work.mkdir()
    subprocess.run(["git", "init", "--quiet", "-b", "main"], cwd=work, check=True)
    subprocess.run(["git", "config", "user.name", "Anna"], cwd=work, check=True)
    subprocess.run(["git", "config", "user.email", "anna@example.org"], cwd=work, check=True)
    return work


def start(folder: Path, config: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(ROOT / "bin/fordjent-agent"), "--config", str(config), *options],
        cwd=folder,
        env={**environment(), "PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "MODEL_KEY": KEY},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(
    folder: Path, config: Path, *options: str, prompt: str = "Add hello.txt"
) -> tuple[int, list[dict[str, Any]], str]:
    out, err = (running := start(folder, config, *options)).communicate(prompt.encode(), 60)
    return running.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


def test_it_works_with_tools_commits_and_tells_each_step(place: Path, folder: Path) -> None:
    write = {"name": "write_file", "arguments": {"path": "hello.txt", "content": "hello\n"}}
    commit = {"name": "bash", "arguments": {"command": "git add . && git commit -qm 'Add hello'"}}
    config = script(
        place,
        {"last": "Add hello", "text": "Writing.", "tool_calls": [write, commit]},
        {
            "last_role": "tool",
            "text": "Done.",
            "usage": {"tokens_in": 1000, "tokens_out": 10, "tokens_cached": 400},
        },
    )
    code, events, err = run(folder, config)
    assert code == 0, err
    assert [event["type"] for event in events] == ["start", "turn", "tool", "tool", "turn", "result"]
    result = events[-1]
    assert (result["outcome"], result["success"], result["text"], result["turns"]) == (
        "answered",
        True,
        "Done.",
        2,
    )
    assert result["cached_tokens"] == 400
    assert result["input_tokens"] == sum(event.get("input_tokens", 0) for event in events[:-1]) - 400
    assert result["cost_usd"] > 0.001
    assert [event["failed"] for event in events if event["type"] == "tool"] == [
        False,
        False,
    ], [event.get("text") for event in events]
    log = subprocess.run(["git", "log", "--format=%s %an"], cwd=folder, capture_output=True, check=True)
    assert log.stdout == b"Add hello Anna\n"


def test_the_key_is_in_no_tool_and_in_nothing_that_is_said(place: Path, folder: Path) -> None:
    look = f"env; cat '{place}/config.toml'; cat /proc/$PPID/environ | tr '\\0' '\\n'; echo {KEY}"
    with ModelEndpoint(says("", ("bash", {"command": look})), says(f"It is {KEY}.")) as endpoint:
        code, events, err = run(folder, configure(place, endpoint.url))
    assert code == 0, err
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(endpoint.requests) + json.dumps(events) + err
    tool = next(event for event in events if event["type"] == "tool")["text"]
    assert "MODEL_KEY=" not in tool
    assert tool.count("[redacted]") == 1, "the one that the command itself named"
    assert events[-1]["text"] == "It is [redacted]."


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(401, 77, "auth"), (429, 75, "quota"), (500, 75, "exhausted"), (400, 78, "refused")],
)
def test_a_provider_that_refuses_is_an_exit_code_and_a_kind(
    place: Path, folder: Path, status: int, code: int, kind: str
) -> None:
    with ModelEndpoint(refuses(status, Retry_After="3600")) as endpoint:
        found, events, _ = run(folder, configure(place, endpoint.url))
    result = events[-1]
    assert (found, result["error_kind"], result["success"], result["outcome"]) == (code, kind, False, "error")
    assert bool(result["resume_at"]) == (status in (429, 500))


def test_turns_are_limited(place: Path, folder: Path) -> None:
    config = script(
        place, {"times": 0, "tool_calls": [{"name": "bash", "arguments": {"command": "date >> x"}}]}
    )
    code, events, _ = run(folder, config, "--max-turns", "2")
    assert (code, events[-1]["outcome"], events[-1]["turns"]) == (75, "max_turns", 2)


def test_term_ends_a_tool_with_all_that_it_started_and_is_told(place: Path, folder: Path) -> None:
    command = "echo $$ > started; sleep 300 & sleep 300"
    config = script(place, {"tool_calls": [{"name": "bash", "arguments": {"command": command}}]})
    running = start(folder, config)
    assert running.stdin
    running.stdin.write(b"Go.")
    running.stdin.close()
    running.stdin = None
    deadline = time.monotonic() + 20
    while not (folder / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=20)
    assert running.returncode == 130
    assert json.loads(out.splitlines()[-1])["outcome"] == "cancelled"


def test_what_is_wrong_with_the_call_is_said(place: Path, folder: Path) -> None:
    config = script(place, {"text": "x"})
    assert run(folder, config, prompt=" ")[0] == 64
    assert run(folder, config, "--max-turns", "0")[0] == 64
    code, _, err = run(folder, config, "--provider", "nobody")
    assert code == 78
    assert "there are: main" in err
    config.write_text("[loop]\n")
    assert run(folder, config)[0] == 78
