"""Objects as git has them: what is written is read back, by us and by git."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadData
from harness.git import Git, GitFailed, Person, init_bare
from harness.objects import EXECUTABLE, FILE, TREE, Entry, format_tree, parse_tree

NAMES = st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name and b"/" not in name)
ENTRIES = st.builds(
    Entry, st.sampled_from((TREE, FILE, EXECUTABLE)), st.binary(min_size=20, max_size=20).map(bytes.hex)
)


@pytest.fixture
def git(place: Path) -> Git:
    init_bare(place / "repo.git")
    return Git(place / "repo.git", person=Person("Zoë", "zoe@example.org"))


@given(st.dictionaries(NAMES, ENTRIES))
def test_a_tree_survives_writing_and_reading(tree: dict[bytes, Entry]) -> None:
    assert parse_tree(format_tree(tree)) == tree


def test_git_takes_our_trees(git: Git) -> None:
    blob = git.objects.write("blob", b"content")
    folder = git.objects.write_tree({b"x": Entry(FILE, blob)})
    names = (b"a", b"a.b", b"a0", b"\xc3\xa9 \xff\n")
    tree = {name: Entry(FILE, blob) for name in names} | {
        b"a-": Entry(TREE, folder),
        b"b": Entry(TREE, folder),
    }
    written = git.objects.write_tree(tree)
    assert git.objects.tree(written) == tree
    commit = git.objects.write_commit(written, [], "x")
    git.update_ref("refs/heads/main", commit)
    assert git.run("fsck", "--strict").ok


def test_objects_are_read_in_order_and_by_thousands(git: Git) -> None:
    oids = [git.objects.write("blob", b"%d\n" % number * number) for number in range(40)] * 60
    contents = list(git.objects.read_many(oids))
    assert contents == [b"%d\n" % number * number for number in range(40)] * 60


def test_large_objects_amid_many_requests(git: Git) -> None:
    large = git.objects.write("blob", b"x" * 3_000_000)
    assert [len(data) for data in git.objects.read_many([large] * 40)] == [3_000_000] * 40


def test_a_missing_object_is_said_and_the_next_is_read(git: Git) -> None:
    blob = git.objects.write("blob", b"here")
    with pytest.raises(BadData, match="0000000"):
        git.objects.read("0" * 40)
    assert git.objects.read(blob) == b"here"


def test_a_reader_that_left_answers_open_is_not_believed(git: Git) -> None:
    one, two = git.objects.write("blob", b"one"), git.objects.write("blob", b"two")
    reading = git.objects.read_many([one, one, one])
    next(reading)
    reading.close()
    assert git.objects.read(two) == b"two"


def test_a_read_within_a_read_gets_its_own_answer(git: Git) -> None:
    oids = [git.objects.write("blob", b"%d" % number) for number in range(5)]
    assert [(data, git.objects.read(oids[0])) for data in git.objects.read_many(oids)] == [
        (b"%d" % number, b"0") for number in range(5)
    ]


def test_a_missing_object_amid_others_spoils_no_later_read(git: Git) -> None:
    blob = git.objects.write("blob", b"here")
    with pytest.raises(BadData):
        list(git.objects.read_many(["0" * 40, blob, blob]))
    assert git.objects.read(blob) == b"here"


def test_a_commit_is_cleaned_as_git_commit_does(git: Git) -> None:
    tree = git.objects.write_tree({})
    author = Person("Alice", "alice@example.org")
    commit = git.objects.write_commit(
        tree, [], "subject  \n\n\n\nbody\n\n", author=author, timestamp=1_700_000_000
    )
    assert git.text("log", "-1", "--format=%B|%an|%cn|%at|%ct", commit) == (
        "subject\n\nbody\n|Alice|Zoë|1700000000|1700000000"
    )
    assert git.objects.tree_of(commit) == tree
    with pytest.raises(BadData, match="not a commit"):
        git.objects.tree_of(tree)


def test_a_repository_that_is_not_there_is_a_failure(place: Path) -> None:
    with pytest.raises(GitFailed):
        Git(place / "nowhere.git").objects.read("0" * 40)


def test_a_reader_that_died_is_started_again(git: Git) -> None:
    blob = git.objects.write("blob", b"here")
    git.objects.read(blob)
    for child in psutil.Process().children():
        child.kill()
        child.wait()
    assert git.objects.read(blob) == b"here"
