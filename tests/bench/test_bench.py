"""The benchmarks run, on tiny sizes: what they would measure is not looked at here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ssh_server import SSHD

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(300)
def test_the_page_has_every_comparison_and_nothing_of_the_machines_paths(place: Path) -> None:
    page = place / "benchmarks.md"
    words = [sys.executable, "-m", "invoke", "-r", ROOT, "bench", "--quick", "--to", page]
    ran = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    text = page.read_text("utf-8")
    for row in (
        "select among 20, cold | ",
        "select among 20, warm | ",
        "a comment, among 20 | ",
        "a change of state, among 20 | ",
        "a look with nothing ready | ",
        "own time per issue, of 1 | ",
        "own time per issue, of 1, over ssh | " if SSHD else "There is no sshd on this machine",
        "| worktree | 1.0 | ",
        "times that of their git commands",
        "| 100 deliveries of 5,096 bytes over 32 connections | ",
        "connections: ",
        "## 3 sessions at once",
        "| until each had its first answer | ",
        "| memory of the server | ",
        "`/admin`, 20 sessions and 200 turns | ",
        "more requests for `/admin`: ",
    ):
        assert row in text
    assert str(place) not in text and str(ROOT) not in text and "/tmp" not in text
