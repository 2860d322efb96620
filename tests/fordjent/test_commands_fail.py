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


@pytest.mark.parametrize(
    ("words", "text", "said", "hint"),
    [
        (["decide"], "", "standard input is empty", "< delivery.json"),
        (
            ["tool", "--repository", "nix", "forgejo_list_issues"],
            "{}",
            "'nix' is no owner/name",
            "acme/widget",
        ),
        (["receive"], "{}", "no X-Forgejo-Event", "--event"),
        (["receive", "--event", "issues"], "", "is no JSON object", "standard input"),
        (["receive", "--event", "issues"], "{}", "not like owner/name", "repository"),
        (
            ["receive", "--event", "issues", "--delivery", "a b"],
            '{"repository": {"full_name": "acme/widget"}}',
            "is no id",
            "visible ASCII",
        ),
    ],
)
def test_a_refusal_names_what_is_wrong_and_a_way_out_that_fits(
    place: Path, words: list[str], text: str, said: str, hint: str
) -> None:
    done = run(server.write_config(place), *words, text=text)
    assert said in done.stderr and hint in done.stderr
    assert "Traceback" not in done.stderr and done.returncode
