"""`ent-agent-ent` as a person or a script meets it: output, exit codes and bytes of entomologist's `ent`."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.trackers import BRANCH, OURS, PROGRAM, A, B, C, Content, Ran, Repository, issue, tree

SPEECH, HOURGLASS, POINTING = "\U0001f5e8\ufe0f", "\u231b", "\U0001f449"
ID = re.compile(r"[0-9a-f]{32}")


@pytest.fixture
def planted(repository: Repository) -> Repository:
    repository.plant(tree(A=issue(), B=issue("b", "2025-01-02T00:00:00Z")))
    return repository


def says(ran: Ran) -> str:
    """What a command printed that went well and had nothing to complain about."""
    assert (ran.exit_code, ran.err) == (0, ""), ran
    return ran.out


def fails(ran: Ran, message: str, exit_code: int = 1) -> None:
    assert ran.exit_code == exit_code and message in ran.err, ran


# ---- the branch


def test_the_first_command_makes_the_branch(repository: Repository) -> None:
    assert says(repository.ent("list")) == ""
    assert repository.log() == ["create entomologist issue branch"]
    assert repository.git("ls-tree", "-r", BRANCH).out == (
        "100644 blob 2bd9d234cdbcebef0d0755c4b6ed4b24a2cb1d3d\tREADME.md\n"
    )
    assert repository.git("status", "--porcelain").out == ""


def test_it_needs_no_commit_on_the_persons_own_branch(place: Path) -> None:
    repository = Repository(place / "empty")
    repository.path.mkdir()
    repository.git("init", "--quiet")
    repository.git("config", "user.name", "Ada")
    repository.git("config", "user.email", "ada@x")
    assert "created new issue 'x'" in says(repository.ent("new", "x"))


def test_it_is_taken_from_a_remote_and_origin_comes_first(planted: Repository, place: Path) -> None:
    fork = planted.copy(place / "fork")
    fork.plant(tree(C=issue("fork")))
    clone = Repository.make(place / "clone")
    for name, source in (("a-fork", fork), ("origin", planted)):
        clone.git("remote", "add", name, str(source.path))
        clone.git("fetch", "--quiet", name)
    assert A in says(clone.ent("list")) and clone.tip() == planted.tip()
    assert clone.git("config", f"branch.{BRANCH}.remote").out == "origin\n"


def test_a_single_branch_clone_asks_its_remote_before_it_begins_another(
    planted: Repository, place: Path
) -> None:
    clone = Repository(place / "clone")
    planted.git(
        "clone", "--quiet", "--single-branch", "--branch=main", "file://" + str(planted.path), str(clone.path)
    )
    assert A in says(clone.ent("list")) and clone.tip() == planted.tip()


def test_several_remotes_without_an_origin_are_a_question(planted: Repository, place: Path) -> None:
    clone = Repository.make(place / "clone")
    for name in ("one", "two"):
        clone.git("remote", "add", name, str(planted.path))
        clone.git("fetch", "--quiet", name)
    fails(clone.ent("list"), "on several remotes: one, two")
    assert clone.tip() == ""


def test_a_tag_of_that_name_is_no_branch(planted: Repository) -> None:
    planted.git("tag", BRANCH, "main")
    assert A in says(planted.ent("list"))
    planted.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    assert says(planted.ent("list")) == "" and planted.log() == ["create entomologist issue branch"]


def test_another_branch_is_chosen_before_the_command(planted: Repository) -> None:
    for words in (["-b", "other"], ["-bother"], ["--issues-branch=other"], ["--issues-branch", "other"]):
        assert says(planted.ent(*words, "list")) == ""
    assert planted.tip("other") and planted.tip("other") != planted.tip()
    fails(planted.ent("list", "-b", "other"), "unexpected argument '-b' found", 2)


@pytest.mark.parametrize("name", ["HEAD", "", "a b", "X~1"])
def test_a_name_that_is_none_is_refused(planted: Repository, name: str) -> None:
    fails(planted.ent("-b", name, "list"), f"'{name}' is not a valid branch name")


def test_a_remotes_branch_is_not_made_a_local_one_by_its_full_name(planted: Repository, place: Path) -> None:
    planted.git("update-ref", f"refs/remotes/origin/{BRANCH}", planted.tip())
    fails(planted.ent("-b", f"origin/{BRANCH}", "list"), "is a branch of a remote")


def test_outside_a_repository_git_says_so(place: Path) -> None:
    (place / "nothing").mkdir()
    fails(
        Repository(place / "nothing").ent("list", GIT_CEILING_DIRECTORIES=str(place)), "not a git repository"
    )


# ---- new


def test_a_new_issue(repository: Repository) -> None:
    said = says(repository.ent("new", "T\n\nB\n"))
    found = re.fullmatch(r"created new issue 'T'\nID: ([0-9a-f]{32})\n", said)
    assert found
    files = repository.files()
    assert files.pop("README.md")
    created = files.pop(f"{found[1]}/creation_time")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6}|\.\d{9})?\+00:00", created)
    assert files == {
        f"{found[1]}/author": "Ada Lovelace <ada@example.org>",
        f"{found[1]}/description": "T\n\nB\n",
    }
    assert repository.log()[0] == f"create new issue {found[1]}"


def test_an_empty_description_is_no_issue_but_an_empty_line_is(planted: Repository) -> None:
    tip = planted.tip()
    assert says(planted.ent("new", "")) == "no new issue created\n"
    assert planted.tip() == tip
    assert says(planted.ent("new", "\n")).startswith("created new issue ''\nID: ")


# ---- state


def test_a_state_is_shown_and_set(planted: Repository) -> None:
    assert says(planted.ent("state", A)) == f"issue: {A}\nstate: new\n"
    assert says(planted.ent("state", A, "InProgress")) == f"issue: {A}\nstate: new -> inprogress\n"
    assert planted.files()[f"{A}/state"] == "inprogress"
    assert planted.log()[0] == f"change state of issue {A}, new -> inprogress"
    tip = planted.tip()
    assert says(planted.ent("state", A, "inprogress")) == f"issue: {A}\nstate: inprogress -> inprogress\n"
    assert planted.tip() == tip


@pytest.mark.parametrize("word", ["foo", " done", "", "in progress"])
def test_what_is_no_state_is_a_usage_error(planted: Repository, word: str) -> None:
    fails(
        planted.ent("state", A, word), f"invalid value '{word}' for '[NEW_STATE]': Failed to parse state", 2
    )


# ---- assign


def test_an_assignee_is_shown_and_set(planted: Repository) -> None:
    assert says(planted.ent("assign", A)) == f"issue: {A}\nassignee: None\n"
    assert says(planted.ent("assign", A, "seb")) == f"issue: {A}\nassignee: None -> seb\n"
    assert planted.files()[f"{A}/assignee"] == "seb"
    assert says(planted.ent("assign", A, "")) == f"issue: {A}\nassignee: seb -> \n"
    assert planted.git("log", "-1", "--format=%B", BRANCH).out.strip("\n").endswith("seb ->")
    assert says(planted.ent("list", "assignee=")) == (
        f"New:\n{A}           issue ({POINTING} )\n{B}           b\n\n"
    )


# ---- tags


def test_tags_are_kept_under_escaped_names_and_sorted_by_bytes(planted: Repository) -> None:
    for tag in ("a,b/c", ",0,1/", "Zed", "ünï"):
        assert says(planted.ent("tag", A, tag)) == ""
    assert {path for path in planted.files() if "/tags/" in path} == {
        f"{A}/tags/{name}" for name in ("a,0b,1c", ",00,01,1", "Zed", "ünï")
    }
    assert says(planted.ent("tag", A)) == ",0,1/\nZed\na,b/c\nünï\n"


def test_tags_come_and_go(planted: Repository) -> None:
    assert says(planted.ent("tag", A)) == "no tags\n"
    planted.ent("tag", A, "x")
    count = len(planted.log())
    assert says(planted.ent("tag", A, "x")) == "" and len(planted.log()) == count
    assert says(planted.ent("tag", A, "-x")) == ""
    assert not [path for path in planted.files() if "/tags" in path]
    fails(planted.ent("tag", A, "-x"), "Error: tag x not found")
    fails(planted.ent("tag", A, ""), "Error: invalid zero-length tag")
    fails(planted.ent("tag", A, "-"), "tag  not found")


# ---- dependencies


def test_dependencies(planted: Repository) -> None:
    assert says(planted.ent("depend", A)) == "DEPENDENCIES:\nNONE\n"
    assert says(planted.ent("depend", A, B)) == ""
    assert planted.files()[f"{A}/dependencies/{B}"] == ""
    assert planted.log()[0] == f"add dep {B} to issue {A}"
    assert says(planted.ent("depend", A)) == f"DEPENDENCIES:\n{B}\n"
    fails(planted.ent("depend", A, B), "Error: Dependency already exists")
    fails(planted.ent("depend", A, A), "Error: Self-dependency not allowed")
    fails(planted.ent("depend", A, "nope"), "Error: dependency nope not found")
    fails(planted.ent("depend", "nope", "nein"), "Error: dependency nein not found")
    fails(planted.ent("depend", "nope", B), "Error: issue nope not found")


# ---- list and show


def test_a_list_line_has_comments_open_dependencies_assignee_and_tags(repository: Repository) -> None:
    comment: dict[str, Content] = {"author": "x", "creation_time": "2025-01-01T00:00:00Z", "description": "c"}
    files: dict[str, Content] = {f"dependencies/{name}": "" for name in (B, C, "nope")}
    files |= {f"comments/{key}/{name}": text for key in "12" for name, text in comment.items()}
    repository.plant(
        tree(
            A=issue(assignee="seb", **{"tags/a": "", "tags/b": ""}, **files),
            B=issue("b", "2024-01-01T00:00:00Z"),
            C=issue("c", state="done"),
        )
    )
    assert says(repository.ent("list")) == (
        f"New:\n{B}           b\n{A}  {SPEECH} 2 {HOURGLASS}1  issue ({POINTING} seb) [a, b]\n\n"
    )
    assert f"dependencies: {HOURGLASS} {B}, \u2705 {C}, \u2620\ufe0f  nope\n" in says(
        repository.ent("show", A)
    )


def test_groups_come_in_their_order_each_by_age(repository: Repository) -> None:
    states = ("inprogress", "blocked", "backlog", "new", "done", "wontdo")
    repository.plant(
        tree(
            **{
                f"{state}-1": issue("t", f"{2030 - age}-01-01T00:00:00Z", state=state)
                for age, state in enumerate(states)
            }
        )
        | tree(**{"new-0": issue("t", "2020-01-01T00:00:00Z")})
    )
    shown = says(repository.ent("list", "state=" + ",".join(states)))
    assert [line for line in shown.split("\n") if line.endswith(":")] == [
        "InProgress:", "Blocked:", "Backlog:", "New:", "Done:", "WontDo:",
    ]  # fmt: skip
    assert shown.index("new-0") < shown.index("new-1") and shown.count("\n\n") == 6
    assert "Done" not in says(repository.ent("list")) and "WontDo" not in says(repository.ent("list"))


def test_issues_of_the_same_moment_come_in_the_order_of_ids(repository: Repository) -> None:
    repository.plant(tree(**{name: issue() for name in "zyxab"}))
    shown = says(repository.ent("list")).split("\n")
    assert [line[:1] for line in shown[1:6]] == ["a", "b", "x", "y", "z"]


def test_show(repository: Repository) -> None:
    repository.plant(
        tree(
            A=issue(
                "T\n\nbody\n",
                "2025-07-06 06:32:09+00:00\n",
                state="done",
                done_time="2025-01-01t00:00:00.1+05:30",
                assignee="seb",
                **{
                    "tags/a": "",
                    "tags/b,1": "",
                    "comments/k/author": "K <k@x>",
                    "comments/k/creation_time": "2025-01-01T00:00:00Z",
                    "comments/k/description": "text\n",
                },
            )
        )
    )
    assert (
        says(repository.ent("show", A))
        == f"""\
issue {A}
author: A <a@x>
tags: a, b/
creation_time: 2025-07-06 06:32:09 +00:00
done_time: 2024-12-31 18:30:00.100 +00:00
state: Done
assignee: seb

T

body


comment: k
author: K <k@x>
creation_time: 2025-01-01 00:00:00 +00:00

text

"""
    )
    assert "creation_time: 2025-07-06 12:17:09 +05:45\n" in says(
        repository.ent("show", A, TZ="Asia/Kathmandu")
    )


@pytest.mark.parametrize("name", ["my-issue", "ABC", "é x"])
def test_ids_are_exact(repository: Repository, name: str) -> None:
    repository.plant(tree(**{name: issue()}))
    assert says(repository.ent("show", name)).startswith(f"issue {name}\n")
    fails(repository.ent("show", name.swapcase()), f"Error: issue {name.swapcase()} not found")


def test_a_unique_beginning_of_an_id_will_do(planted: Repository) -> None:
    assert says(planted.ent("state", "aaaa", "backlog")) == f"issue: {A}\nstate: new -> backlog\n"
    assert says(planted.ent("depend", "bbbb", "aaaaa")) == ""
    fails(planted.ent("show", "aaa"), "issue aaa not found")
    planted.ent("new", "x")
    fails(planted.ent("show", ""), "issue  not found")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], "ABC"),
        (["state=NEW,Done"], "ABD"),
        (["assignee=seb,"], "ABC"),
        (["assignee="], "BC"),
        (["assignee=seb"], "A"),
        (["tag=bug,-x y"], "A"),
        (["tag=x y"], "B"),
        (["tag=-bug"], "C"),
        (["tag=-"], "ABC"),
        (["state=new", "state=done"], "D"),
        (["done-time=..", "state=done"], "D"),
        (["done-time=2025-02-01T00:00:00Z..", "state=done"], "D"),
        (["done-time=2025-02-01T00:00:00.1Z..", "state=done"], ""),
        (["done-time=..2025-01-31T23:59:59Z", "state=done,new"], "AB"),
        (["assignee=seb", "tag=bug", "state=new"], "A"),
    ],
)
def test_filters(repository: Repository, words: list[str], found: str) -> None:
    repository.plant(
        tree(
            A=issue("=A", assignee="seb", tags__bug=""),
            B=issue("=B", assignee="", **{"tags/bug": "", "tags/x y": ""}),
            C=issue("=C", state="backlog"),
            D=issue("=D", state="done", assignee="bob", done_time="2025-02-01T00:00:00Z"),
        )
    )
    shown = says(repository.ent("list", *words))
    assert {letter for letter in "ABCD" if f"={letter}" in shown} == set(found)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("state=", "Failed to parse state"),
        ("state= new", "Failed to parse state"),
        ("tag=", "Failed to parse filter"),
        ("tag=a,", "Failed to parse filter"),
        ("foo", "Failed to parse filter"),
        ("state=a=b", "Failed to parse filter"),
        ("foo=bar", "Failed to parse filter"),
        ("done-time=a..b..c", "Failed to parse filter"),
        ("done-time=2025-01-01T00:00:00Z", "Failed to parse filter"),
        ("done-time=x..", "premature end of input"),
    ],
)
def test_what_is_no_filter(planted: Repository, word: str, message: str) -> None:
    ran = planted.ent("list", word)
    fails(ran, f"Error: {message}")
    assert ran.out == ('unknown filter string "foo=bar"\n' if word == "foo=bar" else "")


def test_what_cannot_be_read_is_told_and_the_rest_is_listed(planted: Repository) -> None:
    planted.plant(tree(A=issue(state="?"), B=issue("b"), C=issue(**{"tags/a,": ""})) | {".github/x": ""})
    ran = planted.ent("list")
    assert ran.exit_code == 0 and ran.out == f"New:\n{B}           b\n\n"
    assert ran.err.splitlines() == [
        "unreadable: issue .github: description: is missing",
        f"unreadable: issue {A}: state: Failed to parse state",
        f"unreadable: issue {C}: tags: invalid trailing escape character ',' in tag file \"a,\"",
    ]
    fails(planted.ent("show", A), f"Error: issue {A} cannot be read: state: Failed to parse state")
    says(planted.ent("show", B))
    assert says(planted.ent("state", A, "new")) == f"issue: {A}\nstate: unreadable -> new\n"
    assert says(planted.ent("state", A)) == f"issue: {A}\nstate: new\n"


def test_json(planted: Repository) -> None:
    planted.ent("tag", A, "x")
    lines = [json.loads(line) for line in says(planted.ent("list", "--json")).splitlines()]
    assert [line["id"] for line in lines] == [A, B]
    assert lines[0] == {
        "id": A,
        "title": "issue",
        "state": "new",
        "assignee": None,
        "creation_time": "2025-01-01T00:00:00+00:00",
        "done_time": None,
        "tags": ["x"],
        "dependencies": [],
        "open_dependencies": 0,
        "comments": 0,
    }
    assert json.loads(says(planted.ent("show", A, "--json")))["description"] == "issue"
    fails(planted.ent("state", A, "--json"), "unexpected argument '--json' found", 2)


# ---- done-time


def test_done_times(planted: Repository) -> None:
    assert says(planted.ent("done-time", A)) == "None\n"
    assert says(planted.ent("done-time", A, "2025-01-01T00:00:00.5+05:30")) == ""
    assert planted.files()[f"{A}/done_time"] == "2024-12-31T18:30:00.500+00:00"
    assert says(planted.ent("done-time", A)) == "done_time: 2024-12-31 18:30:00.500 +00:00\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2025-01-01T00:00:00+0000", "input contains invalid characters"),
        ("2025-01-01T00:00:00", "premature end of input"),
        ("2025-01-01", "premature end of input"),
        ("2025-01-01T00:00:45Z ", "trailing input"),
        ("2025-13-01T00:00:00Z", "input is out of range"),
    ],
)
def test_a_time_that_is_none(planted: Repository, text: str, message: str) -> None:
    fails(planted.ent("done-time", A, text), f"failed to parse done-time from {text}\nError: {message}\n")


def test_a_year_that_would_make_the_tracker_unreadable_is_refused(planted: Repository) -> None:
    for text, zone in (("0000-01-01T00:00:00Z", "America/New_York"), ("9999-12-31T23:59:59Z", "Asia/Tokyo")):
        fails(planted.ent("done-time", A, text, TZ=zone), "is not in 1 to 9998")
    assert len(planted.log()) == 1


# ---- comment


def test_a_comment(planted: Repository) -> None:
    said = says(planted.ent("comment", A, "hello\n"))
    found = re.fullmatch(rf"created new comment ([0-9a-f]{{32}}) on issue {A}\n", said)
    assert found
    assert planted.files()[f"{A}/comments/{found[1]}/description"] == "hello\n"
    assert planted.log()[0] == f"add comment {found[1]} on issue {A}"
    assert says(planted.ent("comment", A, "")) == "aborted new comment\n"
    assert says(planted.ent("comment", A, "-")).startswith("created")
    fails(planted.ent("comment", "nope", "x"), "Error: issue nope not found")


# ---- the command line

USAGE: list[tuple[list[str], str]] = [
    (["foo"], "unrecognized subcommand 'foo'"),
    (["-x"], "unexpected argument '-x' found"),
    (["--", "list"], "unexpected argument 'list' found"),
    (["-b"], "a value is required for '--issues-branch <ISSUES_BRANCH>'"),
    (["-b", "x", "-b", "y", "list"], "cannot be used multiple times"),
    (["show"], "required arguments were not provided:\n  <ISSUE_ID>"),
    (["state", "--"], "required arguments were not provided"),
    (["show", A, B], f"unexpected argument '{B}' found"),
    (["list", "-x"], "tip: to pass '-x' as a value, use '-- -x'"),
    (["comment", A, "-1"], "unexpected argument '-1' found"),
    (["tag", "-x"], "unexpected argument '-x' found"),
    (["tag", A, "-x", "y"], "unexpected argument 'y' found"),
    (["list", "--version"], "unexpected argument '--version' found"),
    (["new", "\udcff"], "invalid UTF-8 was detected in one or more arguments"),
    (["help", "nope"], "unrecognized subcommand 'nope'"),
]


@pytest.mark.parametrize(("words", "message"), USAGE)
def test_usage_errors(planted: Repository, words: list[str], message: str) -> None:
    ran = planted.ent(*words)
    fails(ran, message, 2)
    assert ran.out == "" and ran.err.startswith("error: ")


def test_without_a_command_help_is_an_error(planted: Repository) -> None:
    ran = planted.ent()
    assert ran.exit_code == 2 and ran.out == "" and ran.err.startswith("Usage: ent ")


@pytest.mark.parametrize(
    "words",
    [["--help"], ["-h", "list"], ["help"], ["help", "tag"], ["tag", A, "-h"], ["new", "x", "--help"]]
    + [[name, "--help"] for name in ("list", "new", "edit", "show", "state", "comment", "sync")]
    + [[name, "-h"] for name in ("assign", "tag", "done-time", "depend")],
)
def test_help_has_an_example_and_needs_no_repository(place: Path, words: list[str]) -> None:
    shown = says(Repository(place).ent(*words))
    assert "Usage: ent " in shown and "Example:\n  ent " in shown


def test_the_version_is_entomologists(place: Path) -> None:
    for word in ("--version", "-V"):
        assert says(Repository(place).ent(word)) == "entomologist 0.1.0\n"


def test_after_two_dashes_anything_is_text(planted: Repository) -> None:
    assert says(planted.ent("new", "--", "-x")).startswith("created new issue '-x'")
    says(planted.ent("tag", A, "x"))
    assert says(planted.ent("tag", A, "--", "-x")) == ""


def test_a_reader_that_goes_away_is_no_error(planted: Repository) -> None:
    planted.plant(tree(**{f"{number:032}": issue("x" * 200) for number in range(600)}))
    ran = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | head -1', "-", *OURS, PROGRAM, "list"],
        cwd=planted.path,
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"New:\n", b"")


def test_closed_streams_are_no_error(planted: Repository) -> None:
    closed = ["bash", "-c", '"$@" <&- >&- 2>&-', "-", *OURS, PROGRAM]
    assert subprocess.run([*closed, "list"], cwd=planted.path, check=False).returncode == 0
    assert subprocess.run([*closed, "show", "nope"], cwd=planted.path, check=False).returncode == 1


@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "de_DE.ISO-8859-1"}],
)
def test_text_is_utf8_whatever_the_locale(planted: Repository, locale: dict[str, str]) -> None:
    assert "created new issue 'ünï 🗨'" in says(planted.ent("new", "ünï 🗨", **locale))
    assert "ünï 🗨" in says(planted.ent("list", **locale))


# ---- who writes


def test_the_author_file_is_from_the_settings_and_the_commit_from_the_environment(
    planted: Repository,
) -> None:
    says(planted.ent("new", "x", GIT_AUTHOR_NAME="Env", GIT_AUTHOR_EMAIL="env@x", GIT_COMMITTER_NAME="Com"))
    assert planted.git("log", "-1", "--format=%an <%ae> %cn", BRANCH).out == "Env <env@x> Com\n"
    (author,) = (text for path, text in planted.files().items() if path.endswith("author") and "Ada" in text)
    assert author == "Ada Lovelace <ada@example.org>"


def test_settings_from_the_environment_count(planted: Repository) -> None:
    env = {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Robo",
        "GIT_CONFIG_KEY_1": "user.email",
        "GIT_CONFIG_VALUE_1": "robo@x",
    }
    says(planted.ent("comment", A, "x", **env))
    assert planted.git("log", "-1", "--format=%an <%ae>", BRANCH).out == "Robo <robo@x>\n"
    assert "Robo <robo@x>" in planted.files().values()


def test_without_a_name_nothing_is_written(planted: Repository) -> None:
    planted.git("config", "--unset", "user.name")
    fails(planted.ent("new", "x"), "user.name is not set")
    assert len(planted.log()) == 1


def test_commits_are_signed_where_the_settings_say_so(planted: Repository, place: Path) -> None:
    signer = place / "gpg"
    signer.write_text('#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho signature\n')
    signer.chmod(0o755)
    planted.git("config", "gpg.program", str(signer))
    planted.git("config", "commit.gpgSign", "true")
    says(planted.ent("tag", A, "x"))
    assert "\ngpgsig signature\n" in planted.git("cat-file", "-p", BRANCH).out
    signer.write_text("#!/bin/sh\nexit 1\n")
    fails(planted.ent("tag", A, "y"), "gpg")
    assert planted.log()[0] == f"issue {A} add tag x"


# ---- where it stands


def test_settings_and_variables_do_not_lead_astray(planted: Repository, place: Path) -> None:
    other = Repository.make(place / "other")
    hook = planted.git_dir / "hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    planted.git("sparse-checkout", "set", "--no-cone", "nothing")
    (planted.git_dir / "info/exclude").write_text("tags\nstate\n")
    index = (planted.git_dir / "index").read_bytes()
    env = {
        "GIT_DIR": str(other.git_dir),
        "GIT_INDEX_FILE": str(planted.git_dir / "index"),
        "GIT_WORK_TREE": str(other.path),
    }
    assert says(planted.ent("state", A, "blocked", **env)) == f"issue: {A}\nstate: new -> blocked\n"
    says(planted.ent("tag", A, "x", **env))
    assert "[x]" in says(planted.ent("list", **env))
    assert (planted.git_dir / "index").read_bytes() == index
    assert other.tip() == "" and planted.git("log", "--format=%s", "main").out == "first\n"


def test_it_works_from_a_subfolder_a_linked_worktree_and_a_bare_clone(
    planted: Repository, place: Path
) -> None:
    expected = says(planted.ent("list"))
    (planted.path / "sub/folder").mkdir(parents=True)
    planted.git("worktree", "add", "--quiet", str(place / "linked"), "-b", "x")
    planted.git("clone", "--quiet", "--bare", ".", str(place / "bare.git"))
    for key, value in (("user.name", "Ada"), ("user.email", "ada@x")):
        planted.git("config", "--file", str(place / "bare.git/config"), key, value)
    for folder in (planted.path / "sub/folder", planted.git_dir, place / "linked", place / "bare.git"):
        assert says(planted.ent("list", cwd=folder)) == expected
        assert says(planted.ent("tag", A, "x", cwd=folder)) == ""
        assert says(planted.ent("tag", A, "-x", cwd=folder)) == ""


def test_a_repository_that_cannot_be_written_can_be_read(planted: Repository) -> None:
    before = says(planted.ent("list"))
    (planted.git_dir / "ent-agent" / "tracker.cache").unlink()
    (planted.git_dir / "ent-agent").rmdir()
    (planted.git_dir / "ent-agent").write_text("in the way")
    assert says(planted.ent("list")) == before


def test_garbage_is_collected_as_git_commit_does(planted: Repository) -> None:
    planted.git("repack", "-q")
    planted.plant(tree(A=issue(), B=issue("b"), C=issue()))
    planted.git("repack", "-q")
    assert "packs: 2\n" in planted.git("count-objects", "-v").out
    planted.git("config", "gc.autoPackLimit", "1")
    planted.git("config", "gc.autoDetach", "false")
    says(planted.ent("list"))
    assert "packs: 2\n" in planted.git("count-objects", "-v").out
    says(planted.ent("tag", A, "x"))
    assert "packs: 1\n" in planted.git("count-objects", "-v").out


# ---- in a run


def test_in_a_run_it_works_on_the_runs_line_wherever_it_stands(planted: Repository, place: Path) -> None:
    planted.git("update-ref", "refs/ent-agent/runs/r1", planted.tip())
    tip = planted.tip()
    elsewhere = Repository.make(place / "elsewhere")
    run = {
        "ENT_AGENT_ISSUES_REF": "refs/ent-agent/runs/r1",
        "ENT_AGENT_GIT_DIR": str(planted.git_dir),
        "ENT_AGENT_IN_RUN": A,
    }
    assert says(elsewhere.ent("state", A, "blocked", **run)) == f"issue: {A}\nstate: new -> blocked\n"
    assert says(elsewhere.ent("-b", BRANCH, "state", A, **run)) == f"issue: {A}\nstate: blocked\n"
    says(elsewhere.ent("comment", A, "Done: all", **run))
    assert planted.tip() == tip and elsewhere.tip() == ""
    assert planted.git("rev-list", "--count", f"{tip}..refs/ent-agent/runs/r1").out == "2\n"
    assert "when your run ends" in says(elsewhere.ent("sync", **run))
    fails(
        elsewhere.ent("list", **run | {"ENT_AGENT_ISSUES_REF": "refs/ent-agent/runs/r2"}),
        "refs/ent-agent/runs/r2",
    )


# ---- sync


@pytest.fixture
def pair(planted: Repository, place: Path) -> tuple[Repository, Repository]:
    """Two clones of a bare origin, with no branch for the tracker on origin yet."""
    planted.git("clone", "--quiet", "--bare", "--branch=main", ".", str(place / "origin.git"))
    planted.git("push", "--quiet", str(place / "origin.git"), "--delete", BRANCH)
    planted.git("remote", "add", "origin", str(place / "origin.git"))
    other = Repository(place / "other")
    planted.git("clone", "--quiet", str(place / "origin.git"), str(other.path))
    other.git("config", "user.name", "Bob")
    other.git("config", "user.email", "bob@x")
    return planted, other


def test_sync_brings_both_sides_level(pair: tuple[Repository, Repository]) -> None:
    ada, bob = pair
    assert says(ada.ent("sync")) == (
        f'Changes to push to remote origin:\nP: plant\n\nsynced "{BRANCH}" with "origin"\n'
    )
    assert A in says(bob.ent("list"))
    bob.ent("state", B, "blocked")
    bob.ent("sync")
    assert says(ada.ent("sync")) == (
        f"Changes fetched from remote origin:\nBob: change state of issue {B}, new -> blocked\n\n"
        f'synced "{BRANCH}" with "origin"\n'
    )
    ada.ent("assign", A, "x")
    bob.ent("tag", A, "y")
    bob.ent("sync")
    said = says(ada.ent("sync", "origin"))
    assert (
        f"Bob: issue {A} add tag y" in said
        and f"Ada Lovelace: change assignee of issue {A}, None -> x" in said
    )
    assert ada.log()[0] == f"Merge remote-tracking branch 'origin/{BRANCH}' into {BRANCH}"
    bob.ent("sync")
    assert ada.tip() == bob.tip()
    assert says(ada.ent("sync")) == f'synced "{BRANCH}" with "origin"\n'


def test_two_beginnings_of_a_tracker_become_one(pair: tuple[Repository, Repository]) -> None:
    ada, bob = pair
    bob.ent("new", "of bob")
    ada.ent("sync")
    says(bob.ent("sync"))
    says(ada.ent("sync"))
    assert "of bob" in says(ada.ent("list")) and A in says(bob.ent("list"))


def test_a_remote_that_is_not_there_is_said(planted: Repository) -> None:
    planted.git("remote", "add", "gone", "/nowhere/at/all.git")
    assert planted.ent("sync", "gone").exit_code == 1
    assert planted.ent("sync", "unknown").exit_code == 1
    assert len(planted.log()) == 1


# ---- the editor, and a terminal


def on_terminal(repository: Repository, *words: str, **env: str) -> tuple[int, str]:
    return repository.on_terminal([*OURS, PROGRAM], *words, **env)


@pytest.fixture
def editor(place: Path) -> Callable[[str], str]:
    """A program that does something to the file it is given."""

    numbers = itertools.count()

    def make(script: str) -> str:
        path = place / f"editor {next(numbers)}"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return make


def test_without_a_terminal_there_is_no_editor(planted: Repository) -> None:
    for words in (["new"], ["comment", A], ["edit", A]):
        fails(planted.ent(*words), "Error: stdin/stdout is not a terminal")
    fails(planted.ent("comment", "nope"), "issue nope not found")
    fails(planted.ent("edit", "nope"), "no issue or comment with uuid nope found")


def test_the_editor_gets_a_description_and_what_it_leaves_is_taken(
    planted: Repository, editor: Callable[[str], str], place: Path
) -> None:
    change = editor(f'echo "$1" > "{place}/given"; pwd > "{place}/cwd"; echo more >> "$1"')
    assert on_terminal(planted, "edit", A, EDITOR=change) == (0, "")
    assert planted.files()[f"{A}/description"] == "issuemore\n"
    assert planted.log()[0] == f"edit description of issue {A}"
    given = Path((place / "given").read_text().strip())
    assert given.name == "description" and given.is_absolute() and not given.parent.exists()
    assert Path((place / "cwd").read_text().strip()) == planted.path
    code, shown = on_terminal(planted, "new", EDITOR=editor('test ! -e "$1" && echo fresh > "$1"'))
    assert code == 0 and shown.startswith("created new issue 'fresh'\nID: ")
    code, shown = on_terminal(planted, "comment", A, EDITOR=editor('echo said > "$1"'))
    comment_id = ID.findall(shown)[0]
    assert shown == f"created new comment {comment_id} on issue {A}\n"
    assert on_terminal(planted, "edit", comment_id, EDITOR=change) == (0, "")
    assert planted.log()[0] == f"edit comment {comment_id} on issue FIXME"
    assert planted.files()[f"{A}/comments/{comment_id}/description"] == "said\nmore\n"


def test_an_editor_may_give_up_fail_or_change_nothing(
    planted: Repository, editor: Callable[[str], str]
) -> None:
    tip = planted.tip()
    assert on_terminal(planted, "edit", A, EDITOR=editor(': > "$1"')) == (0, "aborted issue edit\n")
    assert on_terminal(planted, "edit", A, EDITOR=editor('rm "$1"')) == (0, "aborted issue edit\n")
    assert on_terminal(planted, "edit", A, EDITOR=editor("true")) == (0, "")
    assert on_terminal(planted, "new", EDITOR=editor("true")) == (0, "no new issue created\n")
    assert on_terminal(planted, "comment", A, EDITOR=editor("true")) == (0, "aborted new comment\n")
    code, shown = on_terminal(planted, "edit", A, EDITOR=editor("exit 3"))
    assert code == 1 and "Error: Failed to run editor" in shown
    for unknown in ("/nowhere/editor", "", "cat --with arguments"):
        code, shown = on_terminal(planted, "edit", A, EDITOR=unknown)
        assert code == 1 and "Error: No such file or directory (os error 2)" in shown
    code, shown = on_terminal(planted, "edit", A, EDITOR=editor('printf "\\377" > "$1"'))
    assert code == 1 and "UTF-8" in shown
    assert planted.tip() == tip


def test_a_text_that_somebody_else_changed_meanwhile_is_kept_aside(
    planted: Repository, editor: Callable[[str], str]
) -> None:
    other = " ".join(f"'{word}'" for word in (*OURS, PROGRAM.replace("'", "'\\''")))
    script = (
        f'EDITOR="sed -i s/issue/theirs/" ; cd "{planted.path}"; echo mine >> "$1"; {other} state {A} blocked'
    )
    assert on_terminal(planted, "edit", A, EDITOR=editor(script))[0] == 0
    assert planted.files()[f"{A}/state"] == "blocked"
    blob = "$(echo theirs | git hash-object -w --stdin)"
    clash = editor(
        f'cd "{planted.path}"; echo mine > "$1"; export GIT_INDEX_FILE=/tmp/index.$$; git read-tree {BRANCH}; '
        f"git update-index --cacheinfo 100644,{blob},{A}/description; "
        f"git update-ref refs/heads/{BRANCH} $(git commit-tree -p {BRANCH} -m theirs $(git write-tree)); rm $GIT_INDEX_FILE"
    )
    code, shown = on_terminal(planted, "edit", A, EDITOR=clash)
    assert code == 1 and "somebody changed the text meanwhile" in shown
    kept = re.search(r"the text is kept in (\S+)", shown)
    assert kept and Path(kept[1]).read_text() == "mine\n"
    assert planted.files()[f"{A}/description"] == "theirs\n"
    Path(kept[1]).unlink()
    Path(kept[1]).parent.rmdir()


def test_a_terminal_is_shown_no_control_characters(planted: Repository) -> None:
    planted.plant(tree(A=issue("a\x1b[31mred\r\x07\u202etxt\tx\nline\n")))
    code, shown = on_terminal(planted, "list")
    assert code == 0 and "a[31mredtxt\tx\n" in shown
    assert "a\x1b[31mred\r\x07\u202etxt\tx\n" in says(planted.ent("list"))
    assert on_terminal(planted, "show", A)[1].endswith("a[31mredtxt\tx\nline\n\n")
