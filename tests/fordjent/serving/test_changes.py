"""What a run has changed, as git has it: no program of the repository's is run for it, and no secret shown."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from fordjent.serving.pages import changes
from fordjent.session_key import SessionKey
from tests.support import context
from tests.support.busy_state import SECRET

KEY = SessionKey.parse("Acme/widget/issues/1")


def git(folder: Path, *words: str) -> str:
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    ran = subprocess.run(
        ["git", *person, *words], cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return ran.stdout.strip()


def two_commits(state: Path) -> tuple[str, str]:
    work = state / "a work tree"
    work.mkdir(parents=True)
    git(work, "init", "--quiet", "--initial-branch=main")
    (work / ".gitattributes").write_text("* diff=evil\n")
    (work / "a.txt").write_text("old\n")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "first")
    first = git(work, "rev-parse", "HEAD")
    (work / "a.txt").write_text(f"new <b> {SECRET}\n")
    git(work, "commit", "--quiet", "-am", "second")
    control = state / "repositories/acme/widget/control.git"
    git(state, "clone", "--quiet", "--bare", str(work), str(control))
    for name in ("command", "textconv"):
        git(control, "config", f"diff.evil.{name}", f"touch '{state / 'ran'}'; cat")
    return first, git(work, "rev-parse", "HEAD")


def test_the_change_is_shown_without_secrets_and_runs_nothing(place: Path) -> None:
    with context.opened(place) as shared:
        state = shared.config.state_dir
        state.mkdir(exist_ok=True)
        found = asyncio.run(changes.of(shared, KEY, *two_commits(state)))
        assert found.why == "" and "-old\n" in found.text and "+new <b> [redacted]\n" in found.text
        assert SECRET not in found.text and "a.txt | 2 +-" in found.summary
        assert not (state / "ran").exists()


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        ("", "", "not ended"),
        ("1" * 40, "", "not ended"),
        ("--output=x", "2" * 40, "not ended"),
        ("1" * 40, "1" * 40, "changed nothing"),
        ("1" * 40, "2" * 40, "not on this machine"),
    ],
)
def test_where_there_is_none_it_says_why(place: Path, start: str, end: str, why: str) -> None:
    with context.opened(place) as shared:
        assert why in asyncio.run(changes.of(shared, KEY, start, end)).why
