"""Merges of commits in git: when each side was given its values, histories that cross, the commit that is made."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ent_agent.tracker import merge_clock
from ent_agent.tracker.merge import merge, merged_tree
from harness.errors import BadData
from harness.git import Git
from harness.objects import FILE, TREE, Entry
from tests.support.histories import BEGINNING, GitHistory, read_files, write_files

Files = dict[str, str | bytes]


@dataclass
class Repository:
    history: GitHistory
    minutes: int = 0
    files: dict[str, Files] = field(default_factory=dict)

    @property
    def git(self) -> Git:
        return self.history.git

    def commit(
        self,
        *parents: str,
        at: int | None = None,
        author: str = "A <a@x>",
        base: Files | None = None,
        **changes: str | None,
    ) -> str:
        """A commit on `parents` (the files are those of the first, or `base`); a key is a path in issue i."""
        self.minutes += 1
        files: Files = dict(self.files[parents[0]] if parents else {"i/description": "D"})
        files = files if base is None else dict(base)
        for name, content in changes.items():
            path = f"i/{name}"
            if content is None:
                files.pop(path)
            else:
                files[path] = content
        tree = write_files(self.git.objects, files)
        when = BEGINNING + 60 * (self.minutes if at is None else at)
        commit = self.history.commit(tree, list(parents), when, author)
        self.files[commit] = files
        return commit

    def merged(self, ours: str, theirs: str) -> dict[str, str]:
        """The files of the merge; the same from both sides."""
        tree = merged_tree(self.git, ours, theirs)
        assert tree == merged_tree(self.git, theirs, ours)
        return read_files(self.git.objects, tree)


@pytest.fixture
def repository(place: Path) -> Repository:
    return Repository(GitHistory.create(place / "tracker.git"))


# ---- when a side was given its value


def test_the_value_given_later_stands(repository: Repository) -> None:
    base = repository.commit(state="new")
    ours, theirs = repository.commit(base, state="done"), repository.commit(base, state="blocked")
    assert repository.merged(ours, theirs)["i/state"] == "blocked"
    again = repository.commit(ours, state="wontdo")
    assert repository.merged(again, theirs)["i/state"] == "wontdo"


def test_other_changes_make_a_value_no_younger(repository: Repository) -> None:
    base = repository.commit(state="new")
    ours, theirs = repository.commit(base, state="done"), repository.commit(base, state="blocked")
    ours = repository.commit(ours, assignee="bob")
    assert repository.merged(ours, theirs)["i/state"] == "blocked"


def test_a_value_given_again_is_as_young_as_the_last_time(repository: Repository) -> None:
    base = repository.commit(state="new")
    first = repository.commit(base, state="done")
    theirs = repository.commit(base, state="blocked")
    ours = repository.commit(repository.commit(first, state="backlog"), state="done")
    assert repository.merged(ours, theirs)["i/state"] == "done"


def test_within_a_side_the_order_is_the_histories_not_the_clocks(repository: Repository) -> None:
    base = repository.commit(state="new", at=0)
    ahead = repository.commit(base, state="done", at=500)
    ours = repository.commit(ahead, state="backlog", at=10)
    theirs = repository.commit(base, state="blocked", at=20)
    assert repository.merged(ours, theirs)["i/state"] == "blocked"


def test_taking_a_file_away_is_a_value_with_a_time(repository: Repository) -> None:
    base = repository.commit(assignee="robo")
    theirs = repository.commit(base, assignee="bob")
    ours = repository.commit(base, assignee=None)
    assert "i/assignee" not in repository.merged(ours, theirs)
    theirs = repository.commit(theirs, assignee="alice")
    assert repository.merged(ours, theirs)["i/assignee"] == "alice"


def test_what_a_merge_itself_chose_is_as_old_as_that_merge(repository: Repository) -> None:
    base = repository.commit(state="new", at=0)
    one, two = (repository.commit(base, state=state, at=1) for state in ("done", "blocked"))
    ours = repository.commit(one, two, state="backlog", at=30)
    ours = repository.commit(ours, assignee="bob", at=2)
    theirs = repository.commit(base, state="wontdo", at=20)
    assert repository.merged(ours, theirs)["i/state"] == "backlog"


@pytest.mark.parametrize("first", [0, 1])
def test_a_merge_makes_what_it_took_no_younger(repository: Repository, first: int) -> None:
    base = repository.commit(state="new", at=0)
    lines = [repository.commit(base, state="done", at=10), repository.commit(base, state="backlog", at=25)]
    ours = repository.commit(lines[first], lines[1 - first], state="done", at=30)
    theirs = repository.commit(base, state="wontdo", at=20)
    assert repository.merged(ours, theirs)["i/state"] == "wontdo"


def test_unrelated_histories_go_by_the_clock_from_their_first_commits(repository: Repository) -> None:
    older, newer = repository.commit(state="new", at=5), repository.commit(state="done", at=6)
    ours = repository.commit(older, assignee="bob", at=50)
    assert repository.merged(ours, newer)["i/state"] == "done"


def test_settings_of_the_repository_do_not_change_what_the_clock_says(
    repository: Repository, place: Path
) -> None:
    for setting in (
        "log.showRoot=false",
        "log.showSignature=true",
        "diff.renames=copies",
        "log.mailmap=true",
    ):
        repository.git.run("config", *setting.split("="))
    (place / "gpg").write_text("#!/bin/sh\necho no such key >&2\nexit 1\n")
    (place / "gpg").chmod(0o755)
    repository.git.run("config", "gpg.program", str(place / "gpg"))
    newer, older = repository.commit(state="done", at=6), repository.commit(state="new", at=5)
    signature = b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n abc\n -----END PGP SIGNATURE-----\n\n"
    signed = repository.git.objects.read(newer).replace(b"\n\n", signature, 1)
    first = repository.git.objects.write("commit", signed)
    repository.files[first] = repository.files[newer]
    ours = repository.commit(first, assignee="bob", at=1)
    assert repository.merged(ours, older)["i/state"] == "done"


@pytest.mark.parametrize("name", ["a line\nand another", "[x]*?\\", "é", ":(top)x", "\x01x", "-q"])
def test_any_name_can_be_asked_for(repository: Repository, name: str) -> None:
    base: Files = {f"{name}/description": "D", f"{name}/state": "new"}
    first = repository.commit(base=base, at=0)
    ours, theirs = (
        repository.commit(first, base={**base, f"{name}/state": state}, at=at, author="\x01 \x02:<x>")
        for state, at in (("blocked", 10), ("done", 5))
    )
    # the tips have the opposite order: they must not be what is looked at
    ours = repository.commit(ours, base={**repository.files[ours], "z": ""}, at=1)
    theirs = repository.commit(theirs, base={**repository.files[theirs], "y": ""}, at=20)
    assert repository.merged(ours, theirs)[f"{name}/state"] == "blocked"


def test_a_name_that_is_not_utf8_can_be_asked_for(repository: Repository) -> None:
    objects = repository.git.objects

    def commit(parents: list[str], state: str, at: int, **more: Entry) -> str:
        issue = objects.write_tree({b"state": Entry(FILE, objects.write("blob", state.encode()))})
        root = {b"\xff": Entry(TREE, issue), **{name.encode(): entry for name, entry in more.items()}}
        return repository.history.commit(objects.write_tree(root), parents, BEGINNING + at, "A <a>")

    base = commit([], "new", 0)
    theirs = commit([base], "blocked", 5)
    ours = commit([commit([base], "done", 10)], "done", 1, other=Entry(FILE, objects.write("blob", b"")))
    assert merged_tree(repository.git, ours, theirs) == objects.tree_of(ours)


def test_many_conflicts_are_looked_up_at_once(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_clock, "MAX_PATHSPECS", 3)
    names = [f"i{n}" for n in range(10)]

    def files(state: str) -> Files:
        return {f"{name}/{part}": state for name in names for part in ("description", "state")}

    base = repository.commit(base=files("new"), at=0)
    ours = repository.commit(base, base=files("blocked"), at=10)
    theirs = repository.commit(base, base=files("done"), at=5)
    ours = repository.commit(ours, base={**files("blocked"), "z": ""}, at=1)
    theirs = repository.commit(theirs, base={**files("done"), "y": ""}, at=20)
    result = repository.merged(ours, theirs)
    assert {result[f"{name}/state"] for name in names} == {"blocked"}
    assert {result[f"{name}/description"] for name in names} == {"blocked"}


# ---- histories that crossed


def test_histories_that_crossed_start_from_the_merge_of_their_bases(repository: Repository) -> None:
    """Both merged the same two commits; without the tag's removal being known to the base it would come back."""
    root = repository.commit(**{"tags/t": "", "tags/u": "", "tags/v": ""})
    one = repository.commit(root, **{"tags/t": None})
    two = repository.commit(root, **{"tags/u": None})
    both: Files = {"i/description": "D", "i/tags/v": ""}
    left = repository.commit(one, two, base=both)
    right = repository.commit(two, one, base=both)
    ours = repository.commit(left, assignee="bob")
    theirs = repository.commit(right, **{"tags/t": ""})
    assert repository.merged(ours, theirs) == {**both, "i/assignee": "bob", "i/tags/t": ""}


def test_three_merge_bases_are_joined(repository: Repository) -> None:
    root = repository.commit(state="new")
    bases = [repository.commit(root, **{f"comments/{n}/description": n}) for n in "abc"]
    all_of: Files = {"i/description": "D", "i/state": "new"}
    all_of |= {f"i/comments/{n}/description": n for n in "abc"}
    ours = repository.commit(*bases, base={**all_of, "i/state": "done"})
    theirs = repository.commit(*reversed(bases), base={k: v for k, v in all_of.items() if "/b/" not in k})
    assert repository.merged(ours, theirs) == {
        "i/description": "D",
        "i/state": "done",
        "i/comments/a/description": "a",
        "i/comments/c/description": "c",
    }


def test_histories_that_cross_again_and_again_come_to_an_end(repository: Repository) -> None:
    root = repository.commit(state="new")
    left, right = (repository.commit(root, **{f"comments/{n}/description": n}) for n in "lr")
    for n in range(20):
        files: Files = {**repository.files[left], **repository.files[right]}
        left, right = (
            repository.commit(*pair, base={**files, f"i/comments/{side}{n}/description": "x"})
            for side, pair in (("l", (left, right)), ("r", (right, left)))
        )
    result = repository.merged(left, right)
    assert len([path for path in result if "/comments/" in path]) == 42


# ---- the commit


def test_one_that_contains_the_other_is_the_merge(repository: Repository) -> None:
    older = repository.commit(state="new")
    newer = repository.commit(older, state="done")
    assert merge(repository.git, older, newer, message="m") == newer
    assert merge(repository.git, newer, older, message="m") == newer
    assert merge(repository.git, newer, newer, message="m") == newer


def test_a_merge_commit_has_both_parents_and_is_by_the_repositorys_person(repository: Repository) -> None:
    base = repository.commit(state="new")
    ours, theirs = repository.commit(base, state="done"), repository.commit(base, assignee="bob")
    commit = merge(repository.git, ours, theirs, message="Merge\n\n\nthem ")
    shown = repository.git.text("show", "--no-patch", "--format=%P|%an <%ae>|%cn|%B", commit)
    assert shown == f"{ours} {theirs}|Merger <merger@example.org>|Merger|Merge\n\nthem"


def test_a_merge_is_never_dated_before_what_it_merges(repository: Repository) -> None:
    base = repository.commit(state="new")
    ahead = repository.commit(base, state="done", at=10_000_000)
    theirs = repository.commit(base, assignee="bob")
    commit = merge(repository.git, theirs, ahead, message="m")
    now = merge(repository.git, theirs, repository.commit(base, state="done"), message="m")
    dates = [int(repository.git.text("show", "-s", "--format=%ct", one)) for one in (ahead, commit, now)]
    assert dates[0] == dates[1]
    assert abs(dates[2] - time.time()) < 60


def test_what_is_no_commit_cannot_be_merged(repository: Repository) -> None:
    commit = repository.commit(state="new")
    blob = repository.git.objects.write("blob", b"x")
    for other in (blob, repository.git.objects.tree_of(commit), "1" * 40):
        with pytest.raises(BadData):
            merge(repository.git, commit, other, message="m")


def test_a_merge_moves_no_ref_and_leaves_the_repository_sound(repository: Repository) -> None:
    base = repository.commit(state="new")
    ours, theirs = (repository.commit(base, description=text) for text in ("O", "T"))
    commit = merge(repository.git, ours, theirs, message="m")
    assert repository.git.refs() == {}
    repository.git.update_ref("refs/heads/data", commit)
    assert repository.git.run("fsck", "--strict").ok
