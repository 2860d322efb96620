"""stdout on a full disk is a failure with a code of ours; a reader that has gone is none."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import of_disk

BIN = Path(__file__).resolve().parents[2] / "bin"
ENV = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
COMMANDS = sorted(path.name for path in BIN.iterdir() if path.name.startswith(("ent-agent-", "fordjent-")))


@pytest.mark.parametrize("command", ["ent-agent-status", "fordjent-status", "fordjent-serve"])
def test_a_full_disk_below_stdout_is_said(command: str) -> None:
    assert command in COMMANDS
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, BIN / command, "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            env=ENV,
        )
    assert done.returncode == 74
    assert json.loads(done.stderr)["code"] == "output_refused"


def test_where_stderr_is_full_too_the_exit_code_still_says_it() -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, BIN / "fordjent-status", "--help"]
        assert subprocess.run(words, stdout=full, stderr=full, timeout=60, env=ENV).returncode == 74


def test_a_reader_that_has_gone_is_no_failure() -> None:
    running = subprocess.Popen(
        [sys.executable, BIN / "fordjent-status", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout and running.stderr
    running.stdout.close()
    assert (running.stderr.read(), running.wait(timeout=60)) == (b"", 0)
    running.stderr.close()


@pytest.mark.parametrize("number", [errno.ENOTDIR, errno.ENAMETOOLONG])
def test_a_path_that_cannot_be_is_a_matter_of_configuration(number: int) -> None:
    failure = of_disk(OSError(number, "no", "/some/where"))
    assert failure and failure.exit_code == 78
