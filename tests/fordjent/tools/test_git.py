"""The git tool: what it does, what it refuses, and what a planted configuration comes to."""

from __future__ import annotations

import pytest

from tests.support import grounds
from tests.support.grounds import Workbench


def test_git_takes_a_list_so_messages_keep_their_blanks(bench: Workbench) -> None:
    (bench.folder / "new.txt").write_text("x\n")

    assert not bench.use("git", args=["add", "-A"]).failed
    result = bench.use("git", args=["commit", "-m", "Add 'new' \"file\" $(date)"])

    assert not result.failed and result.changed
    assert (
        bench.git("log", "-1", "--format=%s|%an") == "[agent-automation] Add 'new' \"file\" $(date)|Fordjent"
    )


def test_commits_that_go_round_the_tool_have_the_prefix_too(bench: Workbench) -> None:
    bench.use("bash", command="echo a > a; git add a; git commit --no-verify -q -m 'By bash'")
    bench.use(
        "bash", command="git commit --amend --no-edit -q; git commit --allow-empty -q -F - <<< 'By file'"
    )

    assert bench.git("log", "--format=%s", "-2").splitlines() == [
        "[agent-automation] By file",
        "[agent-automation] By bash",
    ]


def test_commits_of_others_keep_their_words_when_they_are_rebased(bench: Workbench) -> None:
    bench.git("commit", "--allow-empty", "-qm", "New base")
    bench.git("checkout", "-q", "-b", "theirs", "HEAD~1")
    (bench.folder / "theirs").write_text("x\n")
    bench.git("add", "."), bench.git("commit", "-qm", "By a person")

    assert not bench.use("git", args=["rebase", "fordjent/issue-1"]).failed
    assert bench.git("log", "--format=%s").splitlines() == ["By a person", "New base", "Begin"]


def test_looking_changes_nothing(bench: Workbench) -> None:
    result = bench.use("git", args=["status", "--short"])

    assert result.text == "[exit code 0]" and not result.changed


@pytest.mark.parametrize(
    "args",
    [
        ["push"],
        ["push", "origin", "HEAD:refs/heads/main"],
        ["fetch"],
        ["git", "pull"],
        ["ls-remote", "http://x"],
    ],
)
def test_what_reaches_a_remote_is_refused_with_the_way_out(bench: Workbench, args: list[str]) -> None:
    result = bench.use("git", args=args)

    assert result.failed and "forgejo_create_pr" in result.text


@pytest.mark.parametrize(
    "args",
    [
        ["-c", "alias.x=!touch planted", "x"],
        ["--exec-path=/tmp", "status"],
        ["-C", "/", "status"],
        ["config", "core.pager", "x"],
        ["filter-branch"],
        ["rebase", "-x", "touch planted", "HEAD~1"],
        ["rebase", "--exe=touch planted", "HEAD"],
        ["grep", "-Otouch", "one"],
        ["diff", "--no-index", "/etc/hostname", "hello.txt"],
        ["diff", "hello.txt", "/etc/hostname"],
        ["diff", "--output=../planted"],
        ["commit", "--allow-empty", "-F/etc/hostname"],
        ["commit", "--file=../../x"],
        ["commit -m 'x'"],
        ["status\0"],
    ],
)
def test_what_starts_programs_or_leaves_the_worktree_is_refused(bench: Workbench, args: list[str]) -> None:
    result = bench.use("git", args=args)

    assert result.failed and result.text.startswith("Error:"), result.text
    assert not (bench.folder / "planted").exists() and not (bench.folder.parent / "planted").exists()


@pytest.mark.parametrize(
    "args", [["log", "-p"], ["diff"], ["add", "-A"], ["commit", "-qam", "x"], ["checkout", "."]]
)
def test_a_planted_configuration_starts_nothing(open_bench: Workbench, args: list[str]) -> None:
    bench = open_bench
    mark = bench.folder.parent / "planted"
    program = f"touch '{mark}'; cat"
    for name in (
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "pager.diff",
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.external",
        "gpg.program",
        "core.editor",
        "alias.log",
    ):
        bench.git("config", name, program)
    bench.git("config", "diff.evil.command", program)
    bench.git("config", "commit.gpgSign", "true")
    (bench.folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (bench.folder / "hello.txt").write_text("one\nother\nthree\n")
    for hook in ("pre-commit", "post-checkout", "post-commit", "reference-transaction", "post-index-change"):
        path = bench.folder / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
        path.chmod(0o755)

    result = bench.use("git", args=args)

    assert not result.failed, result.text
    assert not mark.exists()


def test_a_planted_merge_driver_is_gits_own(open_bench: Workbench) -> None:
    bench = open_bench
    mark = bench.folder.parent / "planted"
    bench.git("config", "merge.evil.driver", f"touch '{mark}'")
    (bench.folder / ".gitattributes").write_text("* merge=evil\n")
    (bench.folder / "file").write_text("a\nb\nc\nd\ne\n")
    bench.git("add", "."), bench.git("commit", "-qm", "Base"), bench.git("branch", "other")
    (bench.folder / "file").write_text("A\nb\nc\nd\ne\n")
    bench.git("commit", "-qam", "Ours"), bench.git("checkout", "-q", "other")
    (bench.folder / "file").write_text("a\nb\nc\nd\nE\n")
    bench.git("commit", "-qam", "Theirs")

    result = bench.use("git", args=["merge", "fordjent/issue-1"])

    assert not result.failed and not mark.exists(), result.text
    assert (bench.folder / "file").read_text() == "A\nb\nc\nd\nE\n"


def test_a_configuration_of_thousands_of_programs_is_not_run(bench: Workbench) -> None:
    lines = "".join(f'[filter "f{n}"]\n\tclean = x\n' for n in range(1000))
    with (bench.folder / ".git/config").open("a") as file:
        file.write(lines)

    assert "hundreds of programs" in bench.use("git", args=["status"]).text


def test_nothing_is_committed_on_a_protected_branch(bench: Workbench) -> None:
    bench.git("checkout", "-q", "-b", "main")

    result = bench.use("git", args=["commit", "--allow-empty", "-m", "x"])

    assert result.failed and "protected" in result.text
    assert bench.git("rev-list", "--count", "HEAD") == "1"


def test_without_a_prefix_messages_stay_as_they_are(place: object) -> None:
    from pathlib import Path

    assert isinstance(place, Path)
    bench = grounds.make(place, '[agent]\ncommit_prefix = ""\n')

    bench.use("git", args=["commit", "--allow-empty", "-m", "Plain"])

    assert bench.git("log", "-1", "--format=%s") == "Plain"
