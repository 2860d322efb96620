"""A data branch brought level with a remote: bare repositories and a person's own, races, refusals, dead remotes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ent_agent.sample import ALICE, CODE, DATA, commit_files, make
from ent_agent.tracker import sync
from ent_agent.tracker.sync import Unreachable, bring_level, synchronize
from harness.errors import EX_TEMPFAIL, BadConfig, BadData, TryLater
from harness.git import Git, Person, init_bare

I1, I2 = "1" * 32, "2" * 32
LIB = Path(__file__).resolve().parents[3] / "lib"


@pytest.fixture
def origin(place: Path) -> Git:
    """The sample's origin."""
    return make(place / "origin.git")


def control(place: Path, origin: Git, name: str = "control") -> Git:
    """A repository as the outer loop has it: bare, all heads fetched to refs/remotes."""
    init_bare(place / f"{name}.git")
    git = Git(place / f"{name}.git", person=Person(name, f"{name}@example.org"))
    git.run("remote", "add", "origin", str(origin.git_dir))
    return git


def comment(git: Git, number: int, issue: str = I1) -> str:
    """A comment committed to the local data branch."""
    path = f"{issue}/comments/{number:032x}"
    return commit_files(
        git,
        DATA,
        {f"{path}/description": b"text", f"{path}/author": b"A <a@x>"},
        f"add comment {number}",
        person=git.person or ALICE,
    )


def comments(git: Git) -> int:
    files = git.lines("ls-tree", "-r", "--name-only", f"refs/heads/{DATA}")
    return len([path for path in files if path.endswith("/description") and "/comments/0" in path])


def hook(origin: Git, name: str, script: str) -> None:
    path = origin.git_dir / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


# ---- who has what


def test_what_only_the_remote_has_is_taken_and_nothing_else_of_it(place: Path, origin: Git) -> None:
    git = control(place, origin)
    origin.run("tag", "v1", f"refs/heads/{DATA}")
    level = bring_level(git, DATA)
    assert git.refs() == {f"refs/heads/{DATA}": level, f"refs/remotes/origin/{DATA}": level}
    assert level == origin.resolve(f"refs/heads/{DATA}")
    assert not (git.git_dir / "FETCH_HEAD").exists()


def test_what_only_we_have_is_pushed(place: Path, origin: Git) -> None:
    git = control(place, origin)
    tip = commit_files(git, "issues", {"i/description": b"D"}, "create")
    assert bring_level(git, "issues") == tip
    assert origin.resolve("refs/heads/issues") == tip
    assert git.resolve("refs/remotes/origin/issues") == tip


def test_a_branch_that_neither_side_has_is_not_made(place: Path, origin: Git) -> None:
    git = control(place, origin)
    assert bring_level(git, "nowhere") is None
    assert synchronize(git, "nowhere") is None
    assert git.refs() == {}
    assert origin.resolve("refs/heads/nowhere") is None


def test_both_sides_come_to_have_what_either_did(place: Path, origin: Git) -> None:
    one, two = control(place, origin, "one"), control(place, origin, "two")
    for git in (one, two):
        bring_level(git, DATA)
    mine, other = comment(one, 1), comment(two, 2)
    bring_level(one, DATA)
    level = bring_level(two, DATA)
    assert bring_level(one, DATA) == level == origin.resolve(f"refs/heads/{DATA}")
    assert comments(one) == 2
    shown = one.text("show", "--no-patch", "--format=%P %an %s", level or "")
    assert shown == f"{other} {mine} two Merge remote-tracking branch 'origin/{DATA}' into {DATA}"


def test_level_sides_are_left_as_they_are(place: Path, origin: Git) -> None:
    git = control(place, origin)
    level = bring_level(git, DATA)
    git.run("config", "remote.origin.pushurl", str(place / "nowhere"))
    assert bring_level(git, DATA) == level


def test_what_moved_is_told_as_author_and_subject(place: Path, origin: Git) -> None:
    git = control(place, origin)
    level = bring_level(git, DATA)
    comment(git, 1)
    comment(origin, 2)
    synced = synchronize(git, DATA)
    assert synced and level != synced.commit
    assert synced.fetched == ("Alice Ångström: add comment 2",)
    assert synced.pushed == ("control: add comment 1",)
    again = synchronize(git, DATA)
    assert again and (again.fetched, again.pushed) == ((), ())


def test_unrelated_roots_are_joined(place: Path, origin: Git) -> None:
    git = control(place, origin)
    commit_files(git, DATA, {"f" * 32 + "/description": b"ours"}, "create")
    level = bring_level(git, DATA)
    names = git.lines("ls-tree", "--name-only", level or "")
    assert {"f" * 32, I1, I2} < set(names)


def test_a_branch_deleted_on_the_remote_is_made_again_from_ours(place: Path, origin: Git) -> None:
    git = control(place, origin)
    level = bring_level(git, DATA)
    origin.update_ref(f"refs/heads/{DATA}", None)
    tip = comment(git, 1)
    assert bring_level(git, DATA) == tip == origin.resolve(f"refs/heads/{DATA}")
    assert level != tip


def test_a_single_branch_clone_is_enough(place: Path, origin: Git) -> None:
    subprocess.run(
        ["git", "clone", "-q", "--single-branch", "-b", CODE, origin.git_dir, "mine"], check=True, cwd=place
    )
    git = Git(place / "mine" / ".git", person=ALICE)
    bring_level(git, DATA)
    comment(git, 1)
    level = bring_level(git, DATA)
    assert level == origin.resolve(f"refs/heads/{DATA}") == git.resolve(f"refs/remotes/origin/{DATA}")


def test_a_persons_own_repository_is_left_alone_but_for_the_branch(place: Path, origin: Git) -> None:
    subprocess.run(["git", "clone", "-q", origin.git_dir, "mine"], check=True, cwd=place)
    git = Git(place / "mine" / ".git", person=ALICE)
    git.run("config", "push.followTags", "true")
    git.run("tag", "-m", "mine", "mine", f"refs/remotes/origin/{DATA}")
    commit_files(origin, CODE, {"new": b""}, "More code")
    (place / "mine" / "greet.sh").write_text("changed")
    before = git.refs()
    bring_level(git, DATA)
    comment(git, 1)
    bring_level(git, DATA)
    after = git.refs()
    assert {name for name in after if after[name] != before.get(name)} == {
        f"refs/heads/{DATA}",
        f"refs/remotes/origin/{DATA}",
    }
    assert "refs/tags/mine" not in origin.refs()
    assert (place / "mine" / "greet.sh").read_text() == "changed"


# ---- remotes that fail


def test_a_repository_without_remotes_is_level_with_itself(place: Path) -> None:
    init_bare(place / "alone.git")
    git = Git(place / "alone.git", person=ALICE)
    assert bring_level(git, DATA) is None
    tip = comment(git, 1)
    assert bring_level(git, DATA) == tip


def test_an_unknown_remote_is_named(place: Path, origin: Git) -> None:
    git = control(place, origin)
    for remote in ("upstream", "--upload-pack=touch planted", str(origin.git_dir)):
        with pytest.raises(BadConfig, match=r"has no remote"):
            synchronize(git, DATA, remote)
    assert not (place / "planted").exists()


def test_a_name_that_is_no_branch_is_refused(place: Path, origin: Git) -> None:
    git = control(place, origin)
    for name in ("a b", "x~1", "-f", "*", ""):
        with pytest.raises(BadData, match="not a valid branch name"):
            synchronize(git, name)


def test_a_dead_remote_is_a_failure_to_try_again_and_loses_nothing(place: Path, origin: Git) -> None:
    git = control(place, origin)
    bring_level(git, DATA)
    tip = comment(git, 1)
    moved = origin.git_dir.rename(place / "moved.git")
    with pytest.raises(Unreachable) as failure:
        bring_level(git, DATA)
    assert failure.value.exit_code == EX_TEMPFAIL and failure.value.retry
    assert "does not appear to be a git repository" in failure.value.message
    assert git.resolve(f"refs/heads/{DATA}") == tip
    moved.rename(origin.git_dir)
    assert bring_level(git, DATA) == tip == origin.resolve(f"refs/heads/{DATA}")


def test_a_hook_that_says_no_is_heard(place: Path, origin: Git) -> None:
    git = control(place, origin)
    bring_level(git, DATA)
    mine = comment(git, 1)
    comment(origin, 2)
    hook(origin, "pre-receive", "echo 'the tracker is frozen' >&2; exit 1")
    with pytest.raises(Unreachable, match="the tracker is frozen") as failure:
        bring_level(git, DATA)
    assert "pre-receive hook declined" in failure.value.message
    assert git.is_ancestor(mine, f"refs/heads/{DATA}")
    hook(origin, "pre-receive", "exit 0")
    assert comments(origin) == 1
    bring_level(git, DATA)
    assert comments(origin) == 2


def test_a_push_that_came_second_is_made_again(place: Path, origin: Git) -> None:
    git, other = control(place, origin), control(place, origin, "other")
    for repository in (git, other):
        bring_level(repository, DATA)
    comment(git, 1)
    theirs = comment(other, 2)
    other.run("push", "origin", f"{theirs}:refs/heads/theirs")
    # While ours is on its way, theirs arrives; twice.
    hook(
        origin,
        "pre-receive",
        f"""test -e once && exit 0
        touch once
        env -u GIT_QUARANTINE_PATH git update-ref refs/heads/{DATA} {theirs}""",
    )
    level = bring_level(git, DATA)
    assert level == origin.resolve(f"refs/heads/{DATA}")
    assert comments(origin) == 2


def test_a_remote_that_never_stands_still_is_given_up(
    place: Path, origin: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ent_agent.tracker.sync.MAX_ROUNDS", 4)
    git = control(place, origin)
    bring_level(git, DATA)
    comment(git, 1)
    hook(
        origin,
        "pre-receive",
        f"""unset GIT_QUARANTINE_PATH
        export GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x
        tip=$(git rev-parse refs/heads/{DATA})
        unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
        git update-ref refs/heads/{DATA} $(git commit-tree -p $tip -m more $tip^{{tree}})""",
    )
    with pytest.raises(TryLater, match="moved on 4 times"):
        bring_level(git, DATA)


def test_a_push_whose_answer_was_lost_is_known_by_asking(place: Path, origin: Git) -> None:
    git = control(place, origin)
    bring_level(git, DATA)
    tip = comment(git, 1)
    hook(origin, "post-receive", "kill -9 $PPID")
    assert bring_level(git, DATA) == tip == origin.resolve(f"refs/heads/{DATA}")
    assert git.resolve(f"refs/remotes/origin/{DATA}") == tip


def test_what_is_written_here_while_we_merge_is_not_lost(
    place: Path, origin: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = control(place, origin)
    bring_level(git, DATA)
    comment(git, 1)
    comment(origin, 2)
    plain = sync.merge

    def slow(git: Git, ours: str, theirs: str, *, message: str) -> str:
        merged = plain(git, ours, theirs, message=message)
        if comments(git) == 1:
            comment(git, 3)
        return merged

    monkeypatch.setattr(sync, "merge", slow)
    assert bring_level(git, DATA) == origin.resolve(f"refs/heads/{DATA}")
    assert comments(origin) == comments(git) == 3


# ---- trackers on a code branch


def test_issues_on_a_code_branch_as_well_are_refused(place: Path, origin: Git) -> None:
    git = control(place, origin)
    commit_files(origin, CODE, {f"{I1}/description": b"tracked here too"}, "Mistake")
    git.run("fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    with pytest.raises(BadData, match=f"{DATA} and refs/remotes/origin/{CODE} both hold {I1}/"):
        bring_level(git, DATA)
    assert git.resolve(f"refs/heads/{DATA}") is None


def test_a_data_branch_that_holds_code_is_refused(place: Path, origin: Git) -> None:
    git = control(place, origin)
    commit_files(origin, CODE, {"src/main.c": b""}, "Code")
    git.run("fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    git.update_ref(f"refs/heads/{DATA}", commit_files(git, DATA, {"src/other.c": b""}, "Code"))
    with pytest.raises(BadData, match="both hold src/"):
        bring_level(git, DATA)
    assert origin.run("cat-file", "-e", f"refs/heads/{DATA}:src", check=False).exit_code


def test_a_remote_whose_default_branch_is_the_tracker_is_fine(place: Path, origin: Git) -> None:
    git = control(place, origin)
    commit_files(origin, DATA, {".forgejo/workflows/none.yml": b""}, "Hidden folders are no issues")
    commit_files(origin, CODE, {".forgejo/workflows/ci.yml": b""}, "CI")
    git.run("fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    git.run("symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{DATA}")
    bring_level(git, DATA)
    tip = comment(git, 1)
    assert bring_level(git, DATA) == tip


# ---- at once


def test_many_processes_at_once_lose_nothing(place: Path, origin: Git) -> None:
    """Two repositories, three processes in each that comment and sync, all in the same second."""
    repositories = [control(place, origin, name) for name in ("one", "two")]
    for git in repositories:
        bring_level(git, DATA)
    script = """
import sys
from pathlib import Path
from ent_agent.tracker import writer
from ent_agent.tracker.sync import bring_level
from harness.git import Git, Person
git = Git(Path(sys.argv[1]), person=Person("P", "p@example.org"))
for text in ("first", "second"):
    added = writer.AddComment(issue=sys.argv[2], text=text, author=git.person)
    writer.update(git, "refs/heads/entomologist-data", lambda tip: writer.commit(git, tip, [added]))
    bring_level(git, "entomologist-data")
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, git.git_dir, I1],
            env={**os.environ, "PYTHONPATH": str(LIB)},
            stderr=subprocess.PIPE,
        )
        for git in repositories
        for _ in range(3)
    ]
    assert [process.communicate(timeout=100)[1] for process in running] == [b""] * 6
    files = origin.lines("ls-tree", "-r", "--name-only", f"refs/heads/{DATA}", f"{I1}/comments/")
    assert len([path for path in files if path.endswith("/description")]) == 12
    for git in repositories:
        bring_level(git, DATA)
    assert len({git.resolve(f"refs/heads/{DATA}") for git in (*repositories, origin)}) == 1
    assert origin.run("fsck", "--strict").ok
