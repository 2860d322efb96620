"""The demo runs the real loop on the sample repository, over an earlier demo too, and over nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ent_agent import demo
from ent_agent.demo import MARKER
from harness.errors import Usage
from harness.git import Git
from tests.support.sample import BROKEN, GOODBYE, SPELLING, WELSH

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(240)
def test_the_demo_works_what_is_ready_and_says_what_changed(place: Path) -> None:
    folder = place / "dèmo"
    (folder / "worktrees of an earlier one").mkdir(parents=True)
    (folder / MARKER).touch()
    words = [sys.executable, "-m", "invoke", "-r", str(ROOT), "demo", "--folder", str(folder)]
    ran = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=230, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not (folder / "worktrees of an earlier one").exists()
    picture = demo.look(Git(folder / "origin.git"))
    for issue, outcome in ((WELSH, "completed"), (SPELLING, "completed"), (demo.ASKING.id, "stuck")):
        assert f"{issue[:8]}  {outcome} in" in ran.stdout
        found = picture.issues[issue]
        assert found and found.state == "blocked" and found.assignee and "obo" not in found.assignee
    assert {f"robo/{WELSH}", f"robo/{SPELLING}"} <= set(picture.branches)
    assert f"{GOODBYE[:8]}  passed over: waits for" in ran.stdout
    assert f"{BROKEN[:8]}  passed over: cannot be read" in ran.stdout
    assert f"new branch   robo/{WELSH}" in ran.stdout
    assert "Alice Ångström" in ran.stdout
    shown = [line.strip() for line in ran.stdout.splitlines() if "ent-agent-status" in line]
    assert subprocess.run(["sh", "-c", shown[-1]], capture_output=True, timeout=60).returncode == 0


def test_a_folder_with_something_else_in_it_is_left_alone(place: Path) -> None:
    (place / "mine").write_text("precious", "utf-8")
    with pytest.raises(Usage, match="no demo"):
        demo.run(place, ROOT)
    assert (place / "mine").read_text("utf-8") == "precious"
