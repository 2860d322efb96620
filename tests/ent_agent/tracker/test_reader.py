"""Reading a tracker: what is there, what cannot be read and why, and how little is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ent_agent.tracker.cache import Row
from ent_agent.tracker.format import Instant
from ent_agent.tracker.model import Comment, NotFound
from ent_agent.tracker.reader import Tracker, open_tracker
from harness.cat_file import CatFile
from harness.errors import BadData
from harness.git import Git
from tests.support.trackers import BRANCH, A, B, C, Content, D, Repository, issue, tree

REF = f"refs/heads/{BRANCH}"


def opened(git: Git, cache: Path | None = None) -> Tracker:
    tracker = open_tracker(git, REF, cache)
    assert tracker
    return tracker


# ---- what is there


def test_no_branch_is_no_tracker(git: Git) -> None:
    assert open_tracker(git, REF) is None


def test_an_issue_is_read_whole(repository: Repository, git: Git) -> None:
    repository.plant(
        tree(
            A=issue(
                "Title\r\n\nbody\n",
                "2025-07-06 06:32:09+00:00\n",
                state="Done\n",
                assignee=" seb \n",
                done_time="2025-01-01t00:00:00.1+05:30",
                **{
                    "tags/a,0b,1c": "",
                    "tags/Zed": "x",
                    f"dependencies/{C}": "",
                    f"dependencies/{B}": "",
                    "comments/late/description": "late",
                    "comments/late/author": "L <l@x>",
                    "comments/late/creation_time": "2025-03-01T00:00:00Z",
                    "comments/early/description": "early\n",
                    "comments/early/author": "E <e@x>",
                    "comments/early/creation_time": "2025-02-01T00:00:00Z",
                },
            )
        )
    )
    found = opened(git).issue(A)
    assert found.title == "Title" and found.description == "Title\r\n\nbody\n"
    assert (found.state, found.assignee, found.author) == ("done", "seb", "A <a@x>")
    assert found.creation_time == "2025-07-06T06:32:09+00:00"
    assert found.done_time == "2024-12-31T18:30:00.100+00:00"
    assert found.tags == ("Zed", "a,b/c") and found.dependencies == (B, C)
    assert found.comments == (
        Comment(
            id="early",
            author="E <e@x>",
            creation_time="2025-02-01T00:00:00+00:00",
            description="early\n",
        ),
        Comment(id="late", author="L <l@x>", creation_time="2025-03-01T00:00:00+00:00", description="late"),
    )


def test_what_is_missing_has_its_default(repository: Repository, git: Git) -> None:
    repository.plant(tree(A=issue(), B=issue(assignee="")))
    first, second = opened(git).issues([A, B])
    assert (first.state, first.assignee, first.done_time) == ("new", None, None)
    assert (first.tags, first.dependencies, first.comments) == ((), (), ())
    assert second.assignee == ""


def test_summaries_have_all_issues_in_the_order_of_ids(repository: Repository, git: Git) -> None:
    repository.plant(tree(B=issue(state="blocked", assignee="x"), A=issue(), C=issue(state="?")))
    found = [(item.id, item.state, item.assignee, bool(item.unreadable)) for item in opened(git).summaries()]
    assert found == [(A, "new", None, False), (B, "blocked", "x", False), (C, "new", None, True)]


def test_rows_have_what_a_list_shows(repository: Repository, git: Git) -> None:
    repository.plant(tree(A=issue("T\nx", **{"comments/k/description": "", f"dependencies/{B}": ""})))
    assert opened(git).rows([A]) == {
        A: Row("T", Instant(1735689600), None, (), (B,), 1),
    }


@pytest.mark.parametrize("name", ["my-issue", "ABC", "é x", "a,b", "new\nline", ".x"])
def test_any_folder_name_is_an_id(repository: Repository, git: Git, name: str) -> None:
    repository.plant({f"{name}/{path}": content for path, content in issue().items()})
    assert opened(git).issue(name).id == name
    assert [item.id for item in opened(git).summaries()] == [name]


def test_an_id_may_be_shortened_when_it_is_unique(repository: Repository, git: Git) -> None:
    repository.plant(tree(aabbccdd=issue(), aabbccee=issue(), aabb=issue(), ABC=issue()))
    tracker = opened(git)
    assert tracker.resolve("aabbccd") == "aabbccdd"
    assert tracker.resolve("aabb") == "aabb"
    assert tracker.resolve("ABC") == "ABC"
    with pytest.raises(BadData, match="ambiguous: aabbccdd, aabbccee"):
        tracker.resolve("aabbcc")
    for unknown in ("abc", "AABB", "aab", "", "aabbccdx"):
        with pytest.raises(NotFound, match="not found"):
            tracker.resolve(unknown)
    with pytest.raises(NotFound):
        tracker.issue("aabbccd")


def test_the_issue_of_a_comment_is_found(repository: Repository, git: Git) -> None:
    repository.plant(tree(A=issue(), B=issue(**{f"comments/{D}/description": "x"})))
    assert opened(git).issue_of_comment(D) == B
    assert opened(git).issue_of_comment(C) is None


# ---- what is harmless


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": "x", "stray": "x", "link": ("120000", "/etc/hostname"), "config.toml": b"\xff"},
        {f"{A}/unknown": "x", f"{A}/nested/x": "x", f"{A}/sub": ("160000", "1" * 40)},
        {f"{A}/comments": "a file", f"{A}/dependencies": "a file"},
        {f"{A}/comments": ("120000", "/tmp"), f"{A}/dependencies": ("120000", "/tmp")},
        {f"{A}/comments/c/description": "d", f"{A}/comments/c/state": "zzz", f"{A}/comments/c/n/x": "1"},
        {f"{A}/dependencies/nowhere": "x", f"{A}/tags/sub/x": "", f"{A}/tags/\udcff": ""},
        {f"{A}/state": ("100755", "new")},
    ],
)
def test_what_does_not_matter_is_passed_over(
    repository: Repository, git: Git, files: dict[str, Content]
) -> None:
    repository.plant(tree(A=issue(), B=issue()) | files)
    assert [item.unreadable for item in opened(git).summaries()] == ["", ""]
    assert [found.state for found in opened(git).issues([A, B])] == ["new", "new"]


# ---- what cannot be read

MALFORMED: list[tuple[dict[str, Content | None], str]] = [
    ({"description": None}, "description: is missing"),
    ({"description": b"a\xff"}, "description: not UTF-8 (byte 1)"),
    ({"description": ("120000", "/etc/hostname")}, "description: is a symbolic link"),
    ({"description": ("160000", "1" * 40)}, "description: is a submodule"),
    ({"description": None, "description/x": ""}, "description: is a folder"),
    ({"state": ""}, "state: Failed to parse state"),
    ({"state": "in progress"}, "state: Failed to parse state"),
    ({"state": "\ufeffnew"}, "state: Failed to parse state"),
    ({"state": "<<<<<<< a\nnew\n=======\ndone\n>>>>>>> b\n"}, "state: Failed to parse state"),
    ({"state": ("120000", "/etc/hostname")}, "state: is a symbolic link"),
    ({"state/x": ""}, "state: is a folder"),
    ({"assignee": b"\xff"}, "assignee: not UTF-8 (byte 0)"),
    ({"assignee": ("120000", "author")}, "assignee: is a symbolic link"),
    ({"assignee/x": ""}, "assignee: is a folder"),
    ({"author": b"\xff"}, "author: not UTF-8 (byte 0)"),
    ({"creation_time": "2025-01-01T00:00:00+0000"}, "creation_time: input contains invalid characters"),
    ({"creation_time": ""}, "creation_time: premature end of input"),
    ({"done_time": "x"}, "done_time: premature end of input"),
    ({"tags": "old style"}, "tags: is a file"),
    ({"tags": ("120000", "/tmp")}, "tags: is a symbolic link"),
    ({"tags": ("160000", "1" * 40)}, "tags: is a submodule"),
    ({"tags/a,b": ""}, 'tags: invalid escape character "b" in tag file "a,b"'),
    ({"tags/a,": ""}, "tags: invalid trailing escape character ',' in tag file \"a,\""),
    ({"dependencies/\udcff": ""}, "dependencies: an id is not UTF-8"),
    ({"comments/.gitkeep": ""}, "comments/.gitkeep: is a file"),
    ({"comments/c": ("160000", "1" * 40)}, "comments/c: is a submodule"),
    ({"comments/c/author": "x"}, "comments/c/description: is missing"),
    ({"comments/c/description": ("120000", "/etc/hostname")}, "comments/c/description: is a symbolic link"),
    ({"comments/c/description": b"\xff"}, "comments/c/description: not UTF-8 (byte 0)"),
    ({"comments/c/description": "", "comments/c/creation_time": "x"}, "comments/c/creation_time: premature"),
]


@pytest.mark.parametrize(("files", "why"), MALFORMED)
def test_a_malformed_issue_is_told_by_id_and_file_and_hides_no_other(
    repository: Repository, git: Git, files: dict[str, Content | None], why: str
) -> None:
    bad = {path: content for path, content in {**issue(), **files}.items() if content is not None}
    repository.plant(tree(A=bad, B=issue(state="blocked")))
    tracker = opened(git)
    found = tracker.read([A, B])
    assert isinstance(found[A], BadData) and f"issue {A} cannot be read: {why}" in str(found[A])
    with pytest.raises(BadData, match=A):
        tracker.issue(A)
    assert tracker.issue(B).state == "blocked"
    summaries = tracker.summaries()
    assert [item.id for item in summaries] == [A, B] and summaries[1].state == "blocked"
    row = tracker.rows([A, B]).get(A)
    told = summaries[0].unreadable or (row.unreadable if row else "")
    assert why in told or why.startswith("comments/c/")  # a list does not read into comments


@pytest.mark.parametrize(
    ("files", "shown", "why"),
    [
        ({".github/x": ""}, ".github", "description: is missing"),
        ({"docs/x/y": ""}, "docs", "description: is missing"),
        ({"sub": ("160000", "1" * 40)}, "sub", "is a submodule"),
        ({"\udcff/description": ""}, "\\xff", "the name of its folder is not UTF-8"),
    ],
)
def test_a_stray_folder_is_an_issue_that_cannot_be_read(
    repository: Repository, git: Git, files: dict[str, Content], shown: str, why: str
) -> None:
    repository.plant(tree(B=issue()) | files)
    found = {item.id: item.unreadable for item in opened(git).summaries()}
    assert found == {shown: why, B: ""}
    with pytest.raises(BadData, match=why):
        opened(git).issue(shown)


def test_a_link_never_shows_what_it_points_to(repository: Repository, git: Git) -> None:
    repository.plant(tree(A={**issue(), "description": ("120000", "/etc/hostname")}))
    with pytest.raises(BadData) as caught:
        opened(git).issue(A)
    assert Path("/etc/hostname").read_text().strip() not in str(caught.value)


def test_a_missing_object_spoils_only_its_issue(repository: Repository, git: Git, place: Path) -> None:
    repository.plant(tree(A=issue("one"), B=issue("two")))
    blob = repository.git("rev-parse", f"{BRANCH}:{A}/description").out.strip()
    for pack in (repository.git_dir / "objects/pack").glob("*.pack"):
        data = pack.read_bytes()
        for part in (repository.git_dir / "objects/pack").glob(f"{pack.stem}.*"):
            part.unlink()
        repository.git("unpack-objects", "-q", stdin=data)
    (repository.git_dir / "objects" / blob[:2] / blob[2:]).unlink()
    found = opened(git).read([A, B])
    assert isinstance(found[A], BadData) and "missing from the repository" in str(found[A])
    assert not isinstance(found[B], BadData)
    cache = place / "cache"
    assert opened(git, cache).rows([A])[A].unreadable
    repository.git("hash-object", "-w", "--stdin", stdin=b"one")
    assert opened(git, cache).rows([A])[A].title == "one"


@given(
    st.dictionaries(
        st.sampled_from(
            ["state", "assignee", "creation_time", "done_time", "author", "tags/,x", "comments/c"]
        ),
        st.binary(max_size=30),
        max_size=4,
    )
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_bytes_a_tracker_can_be_looked_at(
    repository: Repository, git: Git, files: dict[str, bytes]
) -> None:
    repository.plant(tree(A={**issue(), **files}, B=issue("good")))
    tracker = opened(git)
    assert [item.id for item in tracker.summaries()] == [A, B]
    assert tracker.rows([A, B])[B].title == "good"
    tracker.read([A, B])


# ---- author and time from the history


def test_what_has_no_author_file_has_that_of_its_oldest_commit(repository: Repository, git: Git) -> None:
    repository.plant(tree(A={"description": "old"}, B={"description": "x", "author": "X <x@x>"}))
    repository.plant(tree(A={"description": "newer"}, B=issue(), C=issue(**{"comments/k/description": "c"})))
    found = opened(git).issue(A)
    assert (found.author, found.creation_time) == ("P <p@x>", "2023-11-14T22:13:20+00:00")
    assert opened(git).issue(C).comments[0].author == "P <p@x>"
    assert opened(git).rows([A])[A].created == Instant(1_700_000_000)


# ---- how little is read


def count_reads(git: Git, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of all objects that are asked for from now on."""
    asked: list[str] = []
    answers = CatFile.contents
    monkeypatch.setattr(CatFile, "contents", lambda self, oids: asked.extend(oids) or answers(self, oids))
    return asked


def many(count: int) -> dict[str, Content]:
    return {
        f"{number:032x}/{path}": content
        for number in range(count)
        for path, content in issue(
            f"issue {number}", state=("new", "done")[number % 2], assignee=f"p{number % 5}"
        ).items()
    }


def test_a_selection_reads_folders_and_each_state_once(
    repository: Repository, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.plant(many(200))
    tracker = opened(git)
    asked = count_reads(git, monkeypatch)
    assert len(tracker.summaries()) == 200
    assert len(asked) == 1 + 1 + 200 + 2 + 5  # commit, root, folders, two states, five assignees


def test_a_second_look_reads_only_what_changed(
    repository: Repository, git: Git, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = place / "cache"
    repository.plant(many(50))
    opened(git, cache).select(lambda state, assignee: True)
    asked = count_reads(git, monkeypatch)
    assert len(opened(git, cache).select(lambda state, assignee: True).rows) == 50
    assert len(asked) == 1  # the commit
    repository.plant(many(50) | {f"{7:032x}/state": "blocked"})
    asked.clear()
    summary, row = opened(git, cache).select(lambda state, assignee: True).rows[f"{7:032x}"]
    assert summary.state == "blocked" and row.title == "issue 7"
    assert len(asked) < 15
    assert opened(git, cache).summaries() == opened(git).summaries()


def test_a_cache_knows_issues_that_went_and_came(repository: Repository, git: Git, place: Path) -> None:
    cache = place / "cache"
    for files in (tree(A=issue(), B=issue()), tree(B=issue()), tree(A=issue(state="done"), B=issue())):
        repository.plant(files)
        assert opened(git, cache).summaries() == opened(git).summaries()


@pytest.mark.parametrize("damage", [b"", b"\x00garbage", b"\x93\x01\xa0\x80"])
def test_a_damaged_cache_is_made_anew(repository: Repository, git: Git, place: Path, damage: bytes) -> None:
    cache = place / "cache"
    repository.plant(tree(A=issue(), C=issue(state="?")))
    expected = opened(git, cache).summaries()
    whole = cache.read_bytes()
    for content in (damage, whole[: len(whole) // 2], whole[:-1]):
        cache.write_bytes(content)
        assert opened(git, cache).summaries() == expected
    assert cache.read_bytes() == whole


def test_a_cache_that_cannot_be_written_does_not_matter(repository: Repository, git: Git) -> None:
    repository.plant(tree(A=issue()))
    assert len(opened(git, Path("/proc/nowhere/cache")).summaries()) == 1


def test_a_submodule_stays_one_in_the_cache(repository: Repository, git: Git, place: Path) -> None:
    repository.plant(tree(A=issue()) | {"sub": ("160000", "1" * 40)})
    cache = place / "cache"
    for _ in range(2):
        assert isinstance(error := opened(git, cache).read(["sub"])["sub"], BadData)
        assert "is a submodule" in error.message
        opened(git, cache).summaries()


def test_a_repository_of_sha256_is_read(place: Path) -> None:
    repository = Repository(place / "sha256")
    repository.path.mkdir()
    repository.git("init", "--quiet", "--object-format=sha256")
    repository.plant(tree(A=issue("x", state="done", **{"comments/k/description": "c"})))
    git = Git(repository.git_dir)
    assert opened(git).issue(A).comments[0].description == "c"
    assert opened(git).summaries()[0].state == "done"
