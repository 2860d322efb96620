"""Programs run to their end, in bytes, in a time, and as a group."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import process
from harness.errors import Missing

LIB = Path(process.__file__).parents[1]


def gone(pid: int, within_seconds: float = 5.0) -> bool:
    """Whether a process ends in time (a zombie counts as ended)."""
    deadline = time.monotonic() + within_seconds
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_output_and_input_are_bytes() -> None:
    finished = process.run(["cat"], stdin=b"\xf0\x00a")
    assert finished.stdout == b"\xf0\x00a"
    assert finished.text == "�\0a"
    assert finished.ok


def test_an_exit_code_is_a_fact_and_no_exception() -> None:
    finished = process.run(["sh", "-c", "echo why >&2; exit 3"])
    assert (finished.exit_code, finished.error_text, finished.ok) == (3, "why", False)


def test_a_signal_is_a_negative_exit_code() -> None:
    assert process.run(["sh", "-c", "kill -TERM $$"]).exit_code == -signal.SIGTERM


def test_words_reach_the_program_as_they_are(place: Path) -> None:
    odd = "a 'b' \"c\" $(d) ;\n é"
    assert process.run(["printf", "%s", odd]).text == odd


def test_a_missing_program_is_named() -> None:
    with pytest.raises(Missing, match="no-such-program is not installed") as caught:
        process.run(["no-such-program"])
    assert caught.value.exit_code == 69


def test_a_missing_folder_is_not_taken_for_a_missing_program(place: Path) -> None:
    with pytest.raises(FileNotFoundError):
        process.run(["true"], cwd=place / "nowhere")


def test_a_time_out_ends_the_grandchildren_too(place: Path) -> None:
    script = f"sleep 60 & echo $! > '{place}/pid'; wait"
    started = time.monotonic()
    finished = process.run(["sh", "-c", script], timeout_seconds=0.5)
    assert finished.timed_out and not finished.ok
    assert time.monotonic() - started < 10
    assert gone(int((place / "pid").read_text()))


def test_a_child_has_a_session_of_its_own() -> None:
    finished = process.run([sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid())"])
    assert finished.text == "True\n"


def test_only_the_given_environment_is_seen() -> None:
    assert process.run(["/usr/bin/env"], env={"ONE": "1"}).text == "ONE=1\n"


def test_a_process_that_dies_with_its_parent_does_so_when_the_parent_is_killed(place: Path) -> None:
    child = (
        "import os, sys, time; from harness import process;"
        "process.die_with_parent(int(sys.argv[1])); print(os.getpid(), flush=True); time.sleep(60)"
    )
    parent = (
        "import os, subprocess, sys, time;"
        f"subprocess.Popen([sys.executable, '-c', {child!r}, str(os.getpid())]); time.sleep(60)"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(LIB)}
    )
    assert running.stdout
    pid = int(running.stdout.readline())
    running.kill()
    running.wait()
    running.stdout.close()
    assert gone(pid)


def test_a_process_whose_parent_is_gone_already_ends_at_once() -> None:
    script = "import time; from harness import process; process.die_with_parent(1); time.sleep(60)"
    finished = process.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(LIB)}, timeout_seconds=20
    )
    assert finished.exit_code == -signal.SIGTERM
