"""What we merge and sync, the real `ent` reads, and it can be used on the same branch at the same time.

Runs where `ENT_REAL` names a real `ent`.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
from pathlib import Path

import pytest

from ent_agent.sample import ALICE, CODE, DATA, commit_files, issue_files, make
from ent_agent.tracker.model import Issue
from ent_agent.tracker.reader import Tracker
from ent_agent.tracker.sync import bring_level
from harness.git import Git, environment, init_bare
from tests.ent_agent.tracker.test_merge_properties import WELL_FORMED, story
from tests.support.histories import GitHistory
from tests.support.replicas import Replicas

ENT = os.environ.get("ENT_REAL", "")
pytestmark = pytest.mark.skipif(not ENT, reason="ENT_REAL names no real ent")


def ent(folder: Path, *words: str, ok: bool = True) -> str:
    config = {"user.name": "Bob", "user.email": "bob@example.org"}
    done = subprocess.run(
        [ENT, *words],
        cwd=folder,
        env={**environment(config=config), "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 or not ok, (words, done.stdout, done.stderr)
    return done.stdout


def clone(origin: Git, place: Path, name: str) -> tuple[Path, Git]:
    subprocess.run(["git", "clone", "-q", origin.git_dir, name], check=True, cwd=place)
    return place / name, Git(place / name / ".git", person=ALICE)


def shown(folder: Path, git: Git) -> dict[str, str]:
    """What `ent` shows of each issue, and its list without the order of equal times."""
    ids = [summary.id for summary in Tracker(git, git.resolve(f"refs/heads/{DATA}") or "").summaries()]
    listed = ent(folder, "list", "state=new,backlog,blocked,inprogress,done,wontdo")
    assert sorted(
        line.split(" ")[0] for line in listed.splitlines() if line[:1].isalnum() and " " in line
    ) == (sorted(ids))
    return {issue_id: ent(folder, "show", issue_id) for issue_id in ids}


@pytest.mark.parametrize("seed", range(8))
def test_random_histories_end_in_a_tracker_that_ent_reads(place: Path, seed: int) -> None:
    init_bare(place / "origin.git")
    history = GitHistory.create(place / "tracker.git")
    replicas = Replicas(history, related=bool(seed % 3))
    for kind, *about in story(random.Random(seed), WELL_FORMED):
        if kind == "edit":
            replicas.edit(*about)  # type: ignore[arg-type]
        else:
            replicas.sync(*about)  # type: ignore[arg-type]
    git = history.git
    git.update_ref(f"refs/heads/{DATA}", replicas.join())
    git.run("symbolic-ref", "HEAD", f"refs/heads/{CODE}")
    commit_files(git, CODE, {"code": b""}, "Code")
    issues = Tracker(git, replicas.tips[0]).summaries()
    assert not [issue for issue in issues if issue.unreadable]
    for issue_id, text in shown(git.git_dir, git).items():
        issue = Tracker(git, replicas.tips[0]).issue(issue_id)
        assert text.startswith(f"issue {issue_id}\n")
        assert text.count("\ncomment: ") == len(issue.comments)


def test_ent_and_we_sync_the_same_branch_in_turn(place: Path) -> None:
    origin = make(place / "origin.git", files={})
    (theirs, git), (mine, ours) = (clone(origin, place, name) for name in ("ent", "us"))
    one, two = "1" * 32, "2" * 32
    bring_level(ours, DATA)
    ent(theirs, "comment", one, "from ent")
    ent(theirs, "state", one, "inprogress")
    ent(theirs, "sync")
    commit_files(ours, DATA, {f"{one}/state": b"blocked", f"{two}/tags/t": b""}, "change")
    commit_files(ours, DATA, issue_files(Issue(id="f" * 32, description="Ours")), "create")
    bring_level(ours, DATA)
    ent(theirs, "sync")
    bring_level(ours, DATA)
    assert git.resolve(f"refs/heads/{DATA}") == ours.resolve(f"refs/heads/{DATA}")
    assert shown(theirs, git) == shown(mine, ours)
    assert "from ent" in ent(mine, "show", one)
    assert "state: Blocked" in ent(mine, "show", one)
    assert ours.run("fsck", "--strict").ok


def test_ent_at_work_on_the_branch_that_we_bring_level_loses_nothing(place: Path) -> None:
    origin = make(place / "origin.git", files={})
    folder, git = clone(origin, place, "both")
    bring_level(git, DATA)
    done: list[str] = []

    def comments() -> None:
        for n in range(8):
            said = ent(folder, "comment", "1" * 32, f"from ent {n}", ok=False)
            done.extend(line for line in said.splitlines() if line.startswith("created"))

    working = threading.Thread(target=comments)
    working.start()
    for n in range(8):
        path = f"{'2' * 32}/comments/{n:032x}"
        commit_files(origin, DATA, {f"{path}/description": b"from afar"}, f"comment {n}")
        bring_level(git, DATA)
    working.join()
    bring_level(git, DATA)
    comments_there = [
        path for path in origin.lines("ls-tree", "-r", "--name-only", f"refs/heads/{DATA}")
        if "/comments/" in path and path.endswith("/description")
    ]  # fmt: skip
    assert done
    assert len([path for path in comments_there if path.startswith("1")]) == len(done)
    assert len([path for path in comments_there if path.startswith("2")]) == 8
