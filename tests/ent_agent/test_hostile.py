"""Agents that try to get out, to keep the loop from going on, or to have published what must not be."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.running import runs
from ent_agent.running.runs import Run
from harness import folders, process
from harness.errors import BadData
from harness.worktrees import obstacles, registrations
from tests.support.bench import Bench
from tests.support.sample import SPELLING, WELSH, Sample, configuration

TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
SHORT_SECONDS = 20.0


@pytest.fixture
def bench(place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A run that was begun, with one commit of its agent; a git that waits for ever ends soon, and fails the test."""
    hook = sample.origin / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\ncat >> "{place}/pushed"\n')
    hook.chmod(0o755)
    run = process.run

    def impatient(argv, **options):  # type: ignore[no-untyped-def]
        options["timeout_seconds"] = min(options.get("timeout_seconds", SHORT_SECONDS), SHORT_SECONDS)
        finished = run(argv, **options)
        assert not finished.timed_out, argv
        return finished

    monkeypatch.setattr(process, "run", impatient)
    made = Bench(sample, configuration(place, sample.url, "[limits]\nmax_file_bytes = 1000000\n"))
    made.start(WELSH)
    made.commit()
    return made


def survives(bench: Bench, place: Path) -> None:
    """The run is finished with its commit, the next issue is worked, and only our own names were pushed."""
    bench.ended(message="Done: it.")
    result = bench.finalize().result
    assert result and result.outcome == "completed" and result.pushed
    assert "work.txt" in bench.files()
    assert bench.whole(SPELLING).result
    refs = {line.split()[2] for line in (place / "pushed").read_text().splitlines()}
    own = ("refs/heads/robo/", "refs/heads/entomologist-data", "refs/ent-agent/claims/")
    assert all(ref.startswith(own) for ref in refs)


def replaced(path: Path, by: Callable[[Path], object]) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    by(path)


@pytest.mark.parametrize(
    "name", ["packed-refs", f"refs/heads/robo/{WELSH}", "refs/pipe", "HEAD", "objects/info/alternates"]
)
def test_a_pipe_in_the_repository_keeps_nobody_waiting(bench: Bench, place: Path, name: str) -> None:
    replaced(state.of(bench.config).work / name, os.mkfifo)
    survives(bench, place)


@pytest.mark.parametrize("name", ["refs", "refs/heads", "objects/info", "worktrees", "packed-refs"])
def test_a_link_in_the_repository_takes_no_write_elsewhere(bench: Bench, place: Path, name: str) -> None:
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    replaced(state.of(bench.config).work / name, lambda path: path.symlink_to(elsewhere))
    survives(bench, place)
    assert list(elsewhere.iterdir()) == []


def test_refs_of_control_are_not_reached_through_a_link(bench: Bench, place: Path) -> None:
    folder = state.of(bench.config)
    replaced(folder.work / "refs", lambda path: path.symlink_to(folder.control / "refs"))
    survives(bench, place)
    assert not [ref for ref in bench.control.refs("refs/heads/") if "robo/" in ref]


def test_broken_refs_and_locks_that_are_folders_are_set_aside(bench: Bench, place: Path) -> None:
    work = state.of(bench.config).work
    (work / f"refs/heads/robo/{WELSH}").write_text("garbage\n")
    (work / f"refs/heads/robo/{SPELLING}.lock/in").mkdir(parents=True)
    (work / "packed-refs.lock/in").mkdir(parents=True)
    (work / "packed-refs").write_text("garbage\n")
    survives(bench, place)


def test_folders_in_folders_without_end_stop_nothing(bench: Bench, place: Path) -> None:
    script = "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\n"
    process.run(["python3", "-c", script], cwd=state.of(bench.config).work / "refs")
    process.run(["python3", "-c", script], cwd=bench.worktree)
    try:
        survives(bench, place)
    finally:
        folders.remove(place)  # pytest's own tidying would die of them


def test_a_registration_of_folders_is_set_aside(bench: Bench, place: Path) -> None:
    [found] = registrations.every(state.of(bench.config).work)
    for name in ("HEAD", "index"):
        replaced(found.folder / name, lambda path: (path / "in").mkdir(parents=True))
    survives(bench, place)


def test_objects_that_are_gone_do_not_keep_a_run_from_its_end(bench: Bench, place: Path) -> None:
    tree = bench.git("rev-parse", "HEAD^{tree}")
    (state.of(bench.config).work / "objects" / tree[:2] / tree[2:]).unlink()
    survives(bench, place)


def test_a_lock_on_its_worktree_ends_with_the_run(bench: Bench, place: Path) -> None:
    bench.git("worktree", "lock", "--reason", "mine", ".")
    survives(bench, place)
    [found] = [one for one in registrations.every(state.of(bench.config).work) if one.path.name == WELSH]
    assert found.locked is None


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", "deep/.gitignore"])
def test_a_pipe_that_git_reads_in_the_worktree_is_moved_aside(bench: Bench, place: Path, name: str) -> None:
    (bench.worktree / name).parent.mkdir(exist_ok=True)
    bench.write("deep/left-over.txt")
    os.mkfifo(bench.worktree / name)
    survives(bench, place)
    assert not (bench.worktree / name).exists()


def test_a_file_of_gigabytes_that_git_would_read_whole_is_moved_aside(bench: Bench, place: Path) -> None:
    bench.write(".gitignore", "")
    os.truncate(bench.worktree / ".gitignore", 10 << 30)
    survives(bench, place)


@pytest.mark.parametrize("trap", ["pipe", "device", "named"])
def test_a_repository_inside_that_never_ends_is_moved_aside(bench: Bench, place: Path, trap: str) -> None:
    inside = bench.worktree / "inside"
    bench.git("init", "--quiet", "inside")
    head = inside / ".git/HEAD"
    if trap == "device":
        replaced(head, lambda path: path.symlink_to("/dev/zero"))
    else:
        replaced(head, os.mkfifo)
    if trap == "named":
        (inside / ".git").rename(place / "elsewhere.git")
        (inside / ".git").write_text(f"gitdir: {place}/elsewhere.git\n")
    survives(bench, place)
    assert not (inside / ".git").exists()
    assert trap != "named" or (place / "elsewhere.git/HEAD").exists(), "what is elsewhere is not touched"


def test_a_first_line_is_read_of_files_only(place: Path) -> None:
    os.mkfifo(place / "pipe")
    (place / "endless").symlink_to("/dev/zero")
    (place / "file").write_text("one\ntwo\n")
    assert [obstacles.first_line(place / name) for name in ("pipe", "endless", "file", "none")] == [
        "",
        "",
        "one",
        "",
    ]


def test_an_encoding_that_a_file_does_not_have_stops_nothing(bench: Bench, place: Path) -> None:
    bench.write(".gitattributes", "* working-tree-encoding=UTF-16\n")
    bench.write("left-over.txt")
    survives(bench, place)


def test_a_worktree_that_became_a_link_has_nothing_written_through_it(bench: Bench, place: Path) -> None:
    theirs = place / "theirs"
    (theirs / ".git").mkdir(parents=True)
    replaced(bench.worktree, lambda path: path.symlink_to(theirs))
    survives(bench, place)
    assert [path.name for path in theirs.iterdir()] == [".git"]
    assert (theirs / ".git").is_dir()


def test_names_with_line_ends_of_any_kind_are_names(bench: Bench, place: Path) -> None:
    bench.commit("a\rb")
    bench.commit("c\u2028d")
    bench.git("branch", "robo/x\u2028y")
    bench.sample.git.update_ref("refs/heads/p\u2028q", bench.sample.branches()["main"])
    survives(bench, place)
    assert "a\rb" in bench.sample.git.run("ls-tree", "-z", "--name-only", f"robo/{WELSH}").text.split("\0")


@pytest.mark.parametrize("name", [f"{TOKEN}.txt", f"in-{TOKEN}/file"])
def test_a_secret_in_a_name_holds_the_push(bench: Bench, name: str) -> None:
    bench.commit(name)
    bench.ended(message="Done: it.")
    bench.finalize()
    assert bench.pushed() is None
    assert bench.run.withheld
    assert TOKEN not in "".join(bench.comments())


def test_a_left_over_with_a_secret_in_its_name_stays(bench: Bench) -> None:
    bench.write(f"left-{TOKEN}")
    bench.ended(message="Done: it.")
    bench.finalize()
    assert bench.files() == ["README.md", "greet.sh", "work.txt"]
    [withheld] = bench.run.withheld
    assert re.fullmatch(r"GitHub token \[fingerprint [0-9a-f]{12}\] in its name", withheld.rule)
    assert TOKEN not in "".join(bench.comments())


def test_an_id_that_is_the_beginning_of_another_is_itself() -> None:
    found = [Run(id=str(number), issue=issue) for number, issue in enumerate(("ab", "abc", "abd"))]
    assert [run.issue for run in runs.named(found, "ab")] == ["ab"]
    assert [run.issue for run in runs.named(found, "abd")] == ["abd"]
    with pytest.raises(BadData):
        runs.named(found[1:], "ab")
