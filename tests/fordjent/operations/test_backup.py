"""What fordjent-backup copies beside a running server is a state folder: a server goes on with it."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fordjent.operations.backup import back_up
from harness.errors import BadConfig
from tests.support.scripts import ISSUE_TO_PULL, POLITE, REVIEW_TO_CHANGE
from tests.support.served import BOT, REPOSITORY, SECRET, Served

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def served(place: Path) -> Iterator[Served]:
    with Served(place, [*REVIEW_TO_CHANGE, *ISSUE_TO_PULL]) as served:
        served.start()
        yield served


def test_a_server_on_the_restored_folder_goes_on(served: Served) -> None:
    number = served.bob.open_issue(REPOSITORY, "Greet by name", "hello() should say the name.")
    served.until_state(f"issues/{number}", "completed")
    (pull,) = served.bob.pulls(REPOSITORY)
    copy = served.folder / "copies" / "monday"
    words = [
        sys.executable,
        str(ROOT / "bin/fordjent-backup"),
        "--config",
        str(served.config_path),
        str(copy),
    ]
    done = subprocess.run(words, capture_output=True, timeout=60)
    assert done.returncode == 0 and b'"repositories":1' in done.stdout, done.stderr
    assert served.server and served.server.poll() is None
    no_secret_is_in(served, copy)

    served.kill()
    shutil.rmtree(served.folder / "state")
    shutil.copytree(copy, served.folder / "state", symlinks=True)
    served.start()
    served.bob.review(REPOSITORY, pull["number"], "request_changes", "More polite, please.")
    served.until_state(f"pulls/{pull['number']}", "completed")
    assert served.bob.file(REPOSITORY, "hello.py", "fordjent/issue-1") == POLITE
    assert [one["number"] for one in served.bob.pulls(REPOSITORY, "all")] == [pull["number"]]
    assert served.state(f"issues/{number}") == "completed"
    said = [one for one in served.bob.comments(REPOSITORY, number) if one["user"]["login"] == BOT]
    assert len(said) == 1


def test_the_copy_is_one_moment_of_a_database_that_is_written(served: Served) -> None:
    copy = served.folder / "copy"
    back_up(served.config, copy)
    with closing(sqlite3.connect(f"file:{copy / 'fordjent.db'}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    assert [path.name for path in copy.glob("fordjent.db*")] == ["fordjent.db"]
    assert (copy.stat().st_mode & 0o777, (copy / "fordjent.db").stat().st_mode & 0o777) == (0o700, 0o600)


def test_what_is_there_is_not_written_over_and_what_a_kill_left_is_replaced(served: Served) -> None:
    copy = served.folder / "copy"
    left = served.folder / "copy.partial"
    left.mkdir()
    (left / "half").write_text("a half")
    back_up(served.config, copy)
    assert not left.exists() and not (copy / "half").exists()
    with pytest.raises(BadConfig, match="there already"):
        back_up(served.config, copy)
    with pytest.raises(BadConfig, match="state folder itself"):
        back_up(served.config, served.folder / "state/copy")


def no_secret_is_in(served: Served, copy: Path) -> None:
    secrets = [SECRET.encode(), served.forge.token(BOT).encode()]
    for path in copy.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not any(secret in data for secret in secrets), path
