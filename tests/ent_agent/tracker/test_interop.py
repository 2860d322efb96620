"""Ours and a real `ent` on the same repositories: the same output, the same trees, no lost writes.

Runs where ENT_REAL names a real one.
"""

from __future__ import annotations

import os
import random
import re
import resource
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import big_tracker
from tests.support.trackers import (
    BRANCH,
    OURS,
    PROGRAM,
    REAL,
    A,
    B,
    C,
    Content,
    D,
    Ran,
    Repository,
    issue,
    tree,
)

pytestmark = pytest.mark.skipif(not REAL, reason="ENT_REAL names no real ent")

ALL = "state=new,backlog,blocked,inprogress,done,wontdo"
COMMENT: dict[str, Content] = {
    "comments/k/author": "K <k@x>\n",
    "comments/k/creation_time": "2024-06-01T00:00:00Z",
    "comments/k/description": "k",
}
TREES: dict[str, dict[str, Content]] = {
    "nothing": {"README.md": "x"},
    "plain": tree(A=issue("x\ny\n"), B=issue("b", state="done", done_time="2025-02-01T00:00:00Z")),
    "dependencies": tree(
        A=issue(**{f"dependencies/{B}": "", f"dependencies/{C}": "", "dependencies/nope": ""}, **COMMENT),
        B=issue("b", "2024-01-01T00:00:00Z"),
        C=issue("c", state="done"),
        D=issue("d", state="wontdo", **{f"dependencies/{A}": ""}),
    ),
    "states": tree(
        **{
            state: issue(state, f"20{30 - age}-01-01T00:00:00Z", state=state)
            for age, state in enumerate(("inprogress", "blocked", "backlog", "new", "done", "wontdo"))
        }
    ),
    "times": tree(
        A=issue("t", "2025-07-06 06:32:09+00:00\n"),
        B=issue("t", "2025-01-01t00:00:00.1+05:30"),
        C=issue("t", "2025-01-01T00:00:60.123456789123z", done_time="2025-01-01T00:00:00.000001\u221205:30"),
        D=issue("t", "1850-01-01T00:00:00+00:00"),
        old=issue("t", "0000-01-02T12:00:00Z"),
    ),
    "tags": tree(
        A=issue(
            **{"tags/a,0b,1c": "", "tags/,00,01,1": "", "tags/ünï": "", "tags/.dot": "", "tags/sub/f": ""}
        )
    ),
    "assignees": tree(
        A=issue(assignee=" seb \n"),
        B=issue(created="2025-01-02T00:00:00Z", assignee=""),
        C=issue(created="2025-01-03T00:00:00Z", assignee="a\nb"),
    ),
    "white space": tree(
        A=issue(state="  done \n"),
        B=issue(created="2025-01-02T00:00:00Z", state="\u00a0new\u3000"),
        C=issue(created="2025-01-03T00:00:00Z", state="bac\u212alog"),
    ),
    "ids": tree(**{"my-issue": issue(), "é x": issue("u", "2025-01-02T00:00:00Z")}),
    "texts": tree(
        A=issue("crlf\r\nx\r\n"),
        B=issue("\ufeffbom\x1b[31m\x00nul", "2025-01-02T00:00:00Z"),
        C=issue("", "2025-01-03T00:00:00Z"),
    ),
    "harmless": tree(A=issue(unknown="x", comments="a file", dependencies="a file", **{"nested/d": "y"}))
    | {"stray": "x", "link": ("120000", "/etc/hostname"), "config.toml": "a = 1\n"},
    "legacy": tree(
        A={"description": "old"},
        B={"description": "old2", "author": "X <x>"},
        C={"description": "o3", "creation_time": "2024-01-01T00:00:00Z", "comments/k/description": "c"},
    ),
}
FILTERS = [[], [ALL], ["state=DONE"], ["assignee="], ["assignee=seb,"], ["tag=a,b/c"], ["tag=-.dot"]]
FILTERS += [["state=done", "state=new"], ["done-time=2025-01-15T00:00:00Z..", ALL], ["done-time=..", ALL]]
FILTERS += [["state="], ["tag="], ["foo"], ["state=a=b"], ['foo=b"a\nr'], ["done-time=x..y"], ["state= new"]]


@pytest.fixture(autouse=True)
def quick_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real `ent` makes a checkout for each command."""
    if Path("/dev/shm").is_dir() and os.access("/dev/shm", os.W_OK):
        monkeypatch.setenv("TMPDIR", "/dev/shm")


def same(ours: Ran, real: Ran) -> None:
    assert (ours.exit_code, ours.out) == (real.exit_code, real.out)
    if ours.exit_code:
        assert ours.err.splitlines()[0] == real.err.splitlines()[0]


@pytest.mark.parametrize("name", TREES)
def test_both_show_a_tracker_alike(repository: Repository, name: str) -> None:
    files = TREES[name]
    repository.plant(files)
    ids = sorted({path.split("/")[0] for path in files if "/" in path})
    for number, words in enumerate(FILTERS):
        ours, real = repository.ent("list", *words), repository.real("list", *words)
        if name in ("times", "legacy", "dependencies"):  # of the same moment: the real one's order is chance
            assert sorted(ours.out.split("\n")) == sorted(real.out.split("\n")), words
        else:
            same(ours, real)
        if number > 3 and name not in ("tags", "states"):
            break
    for issue_id in [*ids, "nope"]:
        for zone in ("UTC", "Asia/Kathmandu"):
            same(repository.ent("show", issue_id, TZ=zone), repository.real("show", issue_id, TZ=zone))
    for command in ("state", "assign", "tag", "depend", "done-time"):
        same(
            repository.ent(command, ids[0] if ids else "x"), repository.real(command, ids[0] if ids else "x")
        )


START = tree(
    A=issue("issue\nmore", assignee="old", **{"tags/t1": "x", "tags/a,0b": ""}),
    B=issue("b", "2025-01-02T00:00:00Z"),
    C=issue("c", "2025-01-03T00:00:00Z", state=" Blocked \n"),
)
WRITES: list[list[list[str]]] = [
    [["state", A, "InProgress"], ["state", A, "inprogress"]],
    [["state", A, "done"], ["state", A, "done"]],
    [["state", C, "blocked"]],
    [["assign", A, ""], ["assign", B, " sp "]],
    [["assign", B, "x\n\n\n#y  \n"]],
    [["tag", A, "a,b/c"], ["tag", A, ",0,1/"], ["tag", A, "ünï"], ["tag", A, "t1"], ["tag", A]],
    [["tag", A, "-t1"], ["tag", A, "-a,b"], ["tag", A, "-nope"], ["tag", A, ""], ["tag", A, ".."]],
    [["tag", A, "x" * 255], ["tag", A, "x" * 256]],
    [["depend", A, B], ["depend", A, B], ["depend", A, A], ["depend", A, "nope"], ["depend", "nope", B]],
    [["done-time", A, "2025-01-01 00:00:60.123456789123\u221200:01"], ["done-time", A]],
    [["done-time", A, "x"], ["done-time", A, "1850-06-01T12:00:00Z"], ["show", A]],
    [["comment", A, "a\n\n b \n"], ["comment", A, ""], ["comment", A, "-"], ["comment", A, "--", "-x"]],
    [["new", "T\n\nB\n"], ["new", ""], ["new", "\n"], ["new", "--", "--x"]],
    [["-b", "other", "new", "x"]],
    [["new"], ["comment", A], ["edit", A], ["edit", "nope"], ["comment", "nope", "x"]],
]


def written(repository: Repository, branch: str) -> list[str]:
    """History and files, with new ids and times of now left out."""
    if not repository.tip(branch):
        return []
    log = repository.git("log", "--format=%an|%ae|%cn|%B%x00", f"refs/heads/{branch}").out
    listed = repository.git("ls-tree", "-r", f"refs/heads/{branch}").out.splitlines()
    files = [f"{path}\0{text}" for path, text in repository.files(branch).items()]
    return [anonymous(log), *sorted(map(anonymous, files)), *sorted(anonymous(line)[:6] for line in listed)]


def anonymous(text: str) -> str:
    text = re.sub(r"[0-9a-f]{32}", lambda found: found[0] if found[0] in (A, B, C, D) else "ID", text)
    return re.sub(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)? ?[+-]\d\d:\d\d", "NOW", text)


@pytest.mark.parametrize("words", WRITES)
def test_both_write_the_same(repository: Repository, place: Path, words: list[list[str]]) -> None:
    repository.plant(START)
    ours, real = repository.copy(place / "ours"), repository.copy(place / "real")
    for one in words:
        ran, wanted = ours.ent(*one, TZ="Asia/Kathmandu"), real.real(*one, TZ="Asia/Kathmandu")
        same(ran._replace(out=anonymous(ran.out)), wanted._replace(out=anonymous(wanted.out)))
    for branch in (BRANCH, "other"):
        assert written(ours, branch) == written(real, branch)
    assert ours.git("fsck", "--strict").err == ""


def test_each_reads_what_the_other_wrote(repository: Repository) -> None:
    choose = random.Random(7)
    repository.plant(START)
    commands: list[list[str]] = [
        ["state", A, "done"], ["state", B, "blocked"], ["assign", A, "zoe"], ["tag", A, "x y"], ["tag", B, "a/b"],
        ["depend", A, B], ["comment", A, "one"], ["comment", B, "two\n"], ["new", "fresh\ntext"], ["tag", A, "-t1"],
        ["done-time", B, "2025-01-01T00:00:00+05:45"], ["assign", C, ""],
    ]  # fmt: skip
    for words in commands:
        ran = (repository.ent if choose.random() < 0.5 else repository.real)(*words)
        assert ran.exit_code == 0, ran
        for question in (["list", ALL], ["show", A], ["show", B]):
            same(repository.ent(*question), repository.real(*question))
    assert repository.git("fsck", "--strict").err == ""


def test_what_one_cannot_read_neither_can_the_other_but_ours_shows_the_rest(repository: Repository) -> None:
    for bad in ({"state": "?"}, {"tags": "x"}, {"comments/.gitkeep": ""}, {"done_time": "x"}):
        repository.plant(tree(A={**issue(), **bad}, B=issue("good")))
        assert repository.real("list").exit_code == 1
        ran = repository.ent("list")
        assert ran.exit_code == 0 and "good" in ran.out and A in ran.err


def test_no_write_is_lost_between_us_and_a_busy_real_one(repository: Repository) -> None:
    repository.plant(START)
    theirs: list[int] = []

    def work() -> None:
        for number in range(12):
            theirs.append(repository.real("comment", B, f"real {number}").exit_code)
            time.sleep(0.05)

    busy = threading.Thread(target=work)
    busy.start()
    ours = [repository.ent("comment", A, f"ours {number}").exit_code for number in range(20)]
    busy.join()
    assert ours == [0] * 20
    assert repository.ent("show", A).out.count("\nours ") == 20
    assert repository.ent("show", B).out.count("\nreal ") == theirs.count(0)


def test_a_change_of_ours_survives_an_ent_that_sits_in_its_editor(
    repository: Repository, place: Path
) -> None:
    repository.plant(START)
    editor = place / "editor"
    editor.write_text('#!/bin/sh\nsleep 1.5\necho edited > "$1"\n')
    editor.chmod(0o755)
    sitting = threading.Thread(
        target=repository.on_terminal, args=([REAL], "edit", A), kwargs={"EDITOR": str(editor)}
    )
    sitting.start()
    time.sleep(0.7)
    ran = repository.ent("state", A, "blocked")
    sitting.join()
    assert ran.exit_code == 0, ran
    files = repository.files()
    assert files[f"{A}/state"] == "blocked" and files[f"{A}/description"] == "edited\n"


def seconds_of(run: Callable[[], Ran]) -> float:
    """Processor seconds of a command and all that it starts: unlike the clock, they do not count who else is at work."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run().exit_code == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


@pytest.mark.timeout(300)
def test_among_ten_thousand_issues_we_take_a_twentieth_of_the_time(place: Path) -> None:
    repository = Repository(big_tracker.make(place / "big"))
    cache = repository.git_dir / "ent-agent/tracker.cache"
    issue_id = big_tracker.issue_id(5)

    def cold() -> Ran:
        cache.unlink(missing_ok=True)
        return repository.ent("list", "assignee=hermes")

    assert cold().out == repository.real("list", "assignee=hermes").out
    reading = seconds_of(lambda: repository.real("list", "assignee=hermes"))
    writing = seconds_of(lambda: repository.real("comment", issue_id, "x"))
    assert seconds_of(cold) <= reading / 20
    assert seconds_of(lambda: repository.ent("list", "assignee=hermes")) <= reading / 35
    assert seconds_of(lambda: repository.ent("comment", issue_id, "x")) <= writing / 20
    assert seconds_of(lambda: repository.ent("state", issue_id, "blocked")) <= writing / 20
    cache.unlink()
    listing = subprocess.Popen([*OURS, PROGRAM, "list"], cwd=repository.path, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(listing.pid, 0)
    assert status == 0 and used.ru_maxrss < 100 * 1024
