"""Refs read from their files: what git says of them, and nothing that git would not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import git as git_
from harness import refs
from harness.git import Git, Person

ZOE = Person("Zoë", "zoe@example.org")
NAMES = (
    "refs/heads/a",
    "refs/heads/a/b",
    "refs/heads/é",
    "refs/tags/a",
    "refs/remotes/origin/a",
    "refs/x/y/z",
)


@pytest.fixture
def git(place: Path) -> Git:
    git_.init_bare(place / "repo.git")
    return Git(place / "repo.git", person=ZOE)


def commit(git: Git, message: str = "x") -> str:
    return git.objects.write_commit(git.objects.write_tree({}), [], message)


def as_git_says(git: Git, *prefixes: str) -> dict[str, str]:
    lines = git.lines("for-each-ref", "--format=%(refname) %(objectname)", *prefixes)
    return dict(line.split(" ") for line in lines)


changes = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from(NAMES), st.integers(0, 2)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(0)),
        st.tuples(st.just("link"), st.sampled_from(NAMES[3:]), st.integers(0, 2)),
        st.tuples(st.just("pack"), st.just(""), st.just(0)),
    ),
    max_size=8,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes)
def test_whatever_was_done_they_stand_where_git_says(
    tmp_path_factory: pytest.TempPathFactory, done: list[tuple[str, str, int]]
) -> None:
    place = tmp_path_factory.mktemp("re pö")
    git_.init_bare(place)
    git = Git(place, person=ZOE)
    commits = [commit(git, str(number)) for number in range(3)]
    for what, name, number in done:
        words = {
            "set": ["update-ref", name, commits[number]],
            "delete": ["update-ref", "--no-deref", "-d", name],
            "link": ["symbolic-ref", name, NAMES[number]],
            "pack": ["pack-refs", "--all", "--prune"],
        }[what]
        git.run(*words, check=False)
    assert refs.below(place, "refs/") == as_git_says(git)
    for prefix in ("refs/heads/", "refs/heads/a", "refs/heads/a/", "refs/nothing"):
        assert refs.below(place, prefix) == as_git_says(git, prefix)
    for name in NAMES:
        there = git.run("rev-parse", "--verify", "--quiet", name, check=False).text.strip()
        assert (refs.resolve(place, name) or "") == there
        assert refs.symbolic(place, name) == git.run("symbolic-ref", "-q", name, check=False).text.strip()


def test_a_packed_ref_that_moved_since_stands_where_its_file_says(git: Git) -> None:
    one, two = commit(git, "one"), commit(git, "two")
    git.update_ref("refs/heads/a", one)
    git.run("pack-refs", "--all")
    assert git.resolve("refs/heads/a") == one
    git.update_ref("refs/heads/a", two)
    assert git.refs("refs/heads/") == {"refs/heads/a": two}
    git.run("pack-refs", "--all")
    assert git.resolve("refs/heads/a") == two


def test_none_is_missed_while_git_packs(git: Git) -> None:
    one, two = commit(git, "one"), commit(git, "two")
    git.update_ref("refs/heads/a", one)
    done = threading.Event()

    def pack() -> None:
        for number in range(20):
            git.run("pack-refs", "--all", "--prune")
            git.update_ref("refs/heads/a", (two, one)[number % 2])
        done.set()

    packing = threading.Thread(target=pack)
    packing.start()
    seen = set()
    while not done.is_set():
        seen |= {git.resolve("refs/heads/a"), git.refs("refs/heads/").get("refs/heads/a")}
    packing.join()
    assert seen <= {one, two}


def test_what_an_agent_plants_is_not_read(git: Git, place: Path) -> None:
    made = commit(git)
    git.update_ref("refs/heads/good", made)
    heads = git.git_dir / "refs/heads"
    (place / "elsewhere").write_text(made)
    (heads / "link").symlink_to(place / "elsewhere")
    (heads / "folder").symlink_to(place)
    os.mkfifo(heads / "pipe")
    (heads / "bad name").write_text(made)
    (heads / "two\nlines").write_text(made)
    (heads / os.fsdecode(b"\xff")).write_text(made)
    (heads / "taken.lock").write_text(made)
    (heads / "text").write_text("no id")
    (heads / "empty").write_text("")
    (heads / "round").write_text("ref: refs/heads/round\n")
    (heads / "outside").write_text("ref: ../../../elsewhere\n")
    assert refs.below(git.git_dir, "refs/") == {"refs/heads/good": made}
    for name in ("link", "pipe", "round", "outside", "../../../elsewhere", "bad name"):
        assert git.resolve(f"refs/heads/{name}") is None


def test_folders_in_folders_without_end_are_no_refs(git: Git) -> None:
    made = commit(git)
    git.update_ref("refs/heads/good", made)
    script = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n"
    subprocess.run([sys.executable, "-c", script], cwd=git.git_dir / "refs/heads", check=True)
    try:
        assert git.refs() == {"refs/heads/good": made}
    finally:
        subprocess.run(["rm", "-rf", git.git_dir / "refs/heads/d"], check=True)


def test_packed_refs_that_are_none_are_no_refs(git: Git) -> None:
    packed = git.git_dir / "packed-refs"
    packed.write_bytes(b"\xff\xfe\nno oid here\n" + b"f" * 40 + b" refs/heads/../../x\n")
    assert git.refs() == {}
    packed.unlink()
    os.mkfifo(packed)
    assert git.refs() == {}


def test_of_repositories_that_keep_them_elsewhere_git_is_asked(git: Git, place: Path) -> None:
    git.update_ref("refs/heads/a", made := commit(git))
    git.run("worktree", "add", "--quiet", "--detach", place / "linked", made)
    linked = Git(
        Path(
            subprocess.check_output(
                ["git", "rev-parse", "--git-dir"], cwd=place / "linked", text=True
            ).strip()
        )
    )
    assert not refs.are_files(linked.git_dir)
    assert linked.resolve("refs/heads/a") == made
    assert linked.refs() == {"refs/heads/a": made}


def test_names_are_those_that_git_takes(git: Git) -> None:
    for name in ("a", "a.b", "é", "a@b", "a{b", "@", "-", "a.b/c", "a./b"):
        assert refs.is_name(f"refs/heads/{name}") and git.run("check-ref-format", f"refs/heads/{name}").ok
    for name in (
        "",
        ".a",
        "a/.b",
        "a..b",
        "a.lock",
        "a.lock/b",
        "a//b",
        "a/",
        "a.",
        "a b",
        "a~",
        "a^",
        "a:",
        "a?",
        "a*",
        "a[",
        "a\\",
        "a\x7f",
        "a@{b",
    ):
        assert not refs.is_name(f"refs/heads/{name}")
        assert not git.run("check-ref-format", f"refs/heads/{name}", check=False).ok
    assert not refs.is_name("HEAD")
