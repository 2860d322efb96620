"""The log of an issue: its runs with what they printed; -f goes on until the run ends."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.config import Config, load
from ent_agent.running import runs, workplace
from ent_agent.status import history
from harness import lock
from tests.support import past
from tests.support.sample import GOODBYE, WELSH

COMMAND = Path(__file__).resolve().parents[3] / "bin/ent-agent-log"


@pytest.fixture
def config(config_file: Path) -> Config:
    return load(str(config_file))


def log(*options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([COMMAND, *options], capture_output=True, timeout=60, check=False)


def test_runs_are_shown_oldest_first_with_their_output_and_end(config: Config) -> None:
    past.run(config, WELSH, b"one\n\xf0two", outcome="failed", reason="no commit")
    past.run(config, GOODBYE, b"other", outcome="completed")
    shown = log(WELSH[:6])
    assert shown.returncode == 0, shown.stderr
    text = shown.stdout.decode()
    assert "one\n\N{REPLACEMENT CHARACTER}two\n" in text
    assert "failed in 3 min: no commit" in text
    assert "other" not in text


def test_an_issue_that_was_never_worked_is_bad_data(config: Config) -> None:
    shown = log("nothing")
    assert shown.returncode == 65
    assert "never worked here" in json.loads(shown.stderr)["message"]


def test_a_prefix_of_several_is_refused(config: Config) -> None:
    past.run(config, "1a")
    past.run(config, "1b")
    assert b"several issues: 1a, 1b" in log("1").stderr
    assert log("1a").returncode == 0


def test_no_issue_is_a_usage_error(config: Config) -> None:
    assert log().returncode == 64


def test_escape_sequences_of_an_agent_do_not_reach_the_terminal(config: Config) -> None:
    past.run(config, WELSH, b"\x1b]0;title\x07 plain\n")
    assert b"\x1b" not in log(WELSH).stdout


def test_secrets_are_taken_out(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-value-123456")
    past.run(config, WELSH, b"the key is sk-very-secret-value-123456\n")
    assert b"very-secret" not in log(WELSH).stdout


def test_following_shows_what_comes_until_the_run_ends(config: Config) -> None:
    run = past.run(config, WELSH, b"first\n")
    runs.update(config, run, phase="running")
    output = workplace.folder(config, run).stdout
    at_work, seen = threading.Event(), threading.Event()

    def agent() -> None:
        with lock.held(state.of(config).issue_lock(WELSH)):
            at_work.set()
            seen.wait(20)
            with output.open("ab") as file:
                file.write(b"second\n")
            time.sleep(0.5)
            runs.update(config, run, phase="ran")

    working = threading.Thread(target=agent)
    working.start()
    at_work.wait(20)
    lines = []
    for line in history.show(config, run, follow=True):
        lines.append(line)
        if line == "first":
            seen.set()
    working.join()
    assert lines[2:4] == ["first", "second"]
    assert lines[-1].startswith("==== not finished")


def test_following_a_run_that_has_ended_ends_at_once(config: Config) -> None:
    past.run(config, WELSH, b"all\n", outcome="completed")
    assert b"all" in log(WELSH, "-f").stdout
