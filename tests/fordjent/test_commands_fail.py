"""What is wrong with a call of any command is one line on stderr, with its exit code; stdout is for results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import server
from tests.support.server import ROOT

KEY = "acme/widget/issues/1"


def run(config: Path, command: str, *words: str, text: str = "{}") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "bin" / f"fordjent-{command}", "--config", config, *words],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("words", "stdout"),
    [
        (["gate", "branch", KEY], ""),
        (["session", KEY], ""),
        (["tool", "--repository", "acme/widget", "forgejo_list_issues"], "Error: "),
    ],
)
def test_a_forge_that_is_away_is_waited_for_on_stderr(place: Path, words: list[str], stdout: str) -> None:
    done = run(server.write_config(place), *words)
    assert done.stdout[: len(stdout)] == stdout and "retry" not in done.stdout
    assert "tried again" in done.stderr and "Traceback" not in done.stderr
    assert done.returncode == (75 if not stdout else 1)
