"""The wrapper around git: our repository and no other, no prompt, no hook, no secret in argv."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import git as git_
from harness.errors import BadData
from harness.git import Git, GitFailed, Person

ZOE = Person("Zoë", "zoe@example.org")
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.fixture
def git(place: Path) -> Git:
    git_.init_bare(place / "repo.git")
    return Git(place / "repo.git", person=ZOE)


def commit(git: Git, *parents: str, message: str = "x") -> str:
    git.objects.write_tree({})
    return git.objects.write_commit(EMPTY_TREE, parents, message)


def test_making_a_repository_is_repeatable(git: Git) -> None:
    first = commit(git)
    git.update_ref("refs/heads/a", first)
    git_.init_bare(git.git_dir)
    assert git.resolve("refs/heads/a") == first
    assert not (git.git_dir / "hooks").exists()


def test_a_callers_git_dir_does_not_lead_astray(
    git: Git, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git_.init_bare(place / "other.git")
    monkeypatch.setenv("GIT_DIR", str(place / "other.git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(place / "other.git/objects"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(place / "index"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    made = commit(git, message="only here")
    assert git.text("log", "-1", "--format=%an <%ae> %cn", made) == "Zoë <zoe@example.org> Zoë"
    assert list((place / "other.git/objects").glob("??/*")) == []


def test_hooks_do_not_run(git: Git, place: Path) -> None:
    hook = git.git_dir / "hooks/reference-transaction"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch '{place}/ran'\n")
    hook.chmod(0o755)
    git.update_ref("refs/heads/a", commit(git))
    assert not (place / "ran").exists()


def test_git_cannot_ask_for_a_password(git: Git) -> None:
    env = git.environment
    assert env["GIT_TERMINAL_PROMPT"] == "0"
    assert env["GIT_ASKPASS"] == env["SSH_ASKPASS"] == "/bin/false"


def test_settings_travel_in_the_environment(git: Git) -> None:
    odd = 'a "value" with\nlines'
    more = git.with_config(some__key=odd)
    assert more.run("config", "--get", "some.key").text == odd + "\n"
    assert git.run("config", "--get", "some.key", check=False).exit_code == 1
    assert odd not in more.run("config", "--get", "some.key").argv


def test_a_failure_says_gits_last_line_and_may_be_tried_again(git: Git) -> None:
    with pytest.raises(GitFailed) as caught:
        git.run("fetch", str(git.git_dir.parent / "nowhere.git"))
    assert caught.value.exit_code == 75 and caught.value.retry
    assert caught.value.message.startswith("git fetch: ")


def test_a_time_out_is_a_failure(git: Git) -> None:
    with pytest.raises(GitFailed, match="git wait: timed out"):
        git.with_config(alias__wait="!sleep 30").run("wait", timeout_seconds=0.3)


def test_names_resolve_or_are_none(git: Git) -> None:
    made = commit(git)
    git.update_ref("refs/heads/a", made)
    assert git.resolve("refs/heads/a") == made
    assert git.resolve("refs/heads/b") is None
    assert git.resolve("--help") is None


def test_refs_below_a_prefix(git: Git) -> None:
    made = commit(git)
    git.update_refs([("refs/heads/a", made), ("refs/heads/é_b/c", made), ("refs/x/y", made)])
    assert set(git.refs("refs/heads/")) == {"refs/heads/a", "refs/heads/é_b/c"}
    git.update_refs([("refs/heads/a", None)])
    assert set(git.refs()) == {"refs/heads/é_b/c", "refs/x/y"}


def test_a_ref_moves_only_from_where_it_is_thought_to_be(git: Git) -> None:
    one, two = commit(git, message="one"), commit(git, message="two")
    assert git.update_ref("refs/heads/a", one, "")
    assert not git.update_ref("refs/heads/a", two, "")
    assert not git.update_ref("refs/heads/a", two, two)
    assert git.update_ref("refs/heads/a", two, one)
    assert not git.update_ref("refs/heads/a", None, one)
    assert git.update_ref("refs/heads/a", None, two)
    assert git.resolve("refs/heads/a") is None


def test_ancestors_and_distance(git: Git) -> None:
    base = commit(git, message="base")
    ours, theirs = commit(git, base, message="ours"), commit(git, base, message="theirs")
    more = commit(git, ours, message="more")
    assert git.is_ancestor(base, more) and not git.is_ancestor(theirs, more)
    assert git.ahead_behind(more, theirs) == (2, 1)
    with pytest.raises(GitFailed):
        git.is_ancestor(base, "0" * 40)


@pytest.mark.parametrize("name", ["robo/1a2b", "a.b", "é"])
def test_branch_names(name: str) -> None:
    assert git_.check_branch_name(name) == name


@pytest.mark.parametrize("name", ["", "-x", "a..b", "a~1", "a b", "a.lock", "@{-1}", "a\r", "/a", "a?"])
def test_what_is_no_branch_name(name: str) -> None:
    with pytest.raises(BadData):
        git_.check_branch_name(name)


def test_worktrees_with_odd_paths_are_listed(git: Git, place: Path) -> None:
    git.update_ref("refs/heads/a", commit(git))
    path = place / 'a "quoted"\nfolder'
    git.run("worktree", "add", "--quiet", path, "a")
    listed = git_.parse_worktree_list(git.run("worktree", "list", "--porcelain", "-z").stdout)
    assert [item["worktree"] for item in listed] == [str(git.git_dir), str(path)]
    assert listed[1]["branch"] == "refs/heads/a" and listed[0]["bare"] == ""


def test_the_version_is_numbers() -> None:
    assert git_.version() >= (2, 30)


def test_an_empty_environment_will_do(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name != "PATH":
            monkeypatch.delenv(name)
    assert Git(git.git_dir, person=ZOE).text("log", "-1", "--format=%cn", commit(git)) == "Zoë"
