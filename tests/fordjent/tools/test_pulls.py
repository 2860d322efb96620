"""Pull requests as an agent opens, reads, reviews and merges them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import desks
from tests.support.desks import REPOSITORY, Desk
from tests.support.forge.server import StandIn


@pytest.fixture
def author(place: Path, forge: StandIn) -> Iterator[Desk]:
    """An implementer in the worktree of issue 1."""
    with desks.at(place, forge, worktree=True, more='[verify]\ncommands = ["test ! -e broken"]\n') as found:
        yield found


@pytest.fixture
def reviewed(place: Path, forge: StandIn) -> Iterator[Desk]:
    """A reviewer of alice's pull request 2."""
    alice = forge.api_as("alice")
    alice.push(REPOSITORY, "faster", {"fast.py": "x = 1\n", "docs/a.md": "fast\n"}, "Make it fast")
    assert alice.open_pull(REPOSITORY, "faster", "Make it fast") == 2
    with desks.at(place, forge, role="reviewer", key=f"{REPOSITORY}/pulls/2") as found:
        yield found


def test_work_becomes_a_pull_request_and_ends_the_run(author: Desk) -> None:
    author.use("write_file", path="fast.py", content="x = 1\n")
    author.use("git", args=["add", "-A"])
    author.use("git", args=["commit", "-m", "Make it fast"])

    result = author.use("forgejo_create_pr", title="Make it fast", body="Fixes #1")

    assert result.ends and result.changed and not result.failed, result.text
    (pull,) = author.alice.pulls(REPOSITORY)
    assert f"#{pull['number']}" in result.text and pull["head"]["ref"] == "fordjent/issue-1"
    assert author.alice.file(REPOSITORY, "fast.py", "fordjent/issue-1") == "x = 1\n"


def test_what_a_gate_says_goes_back_to_the_agent_and_nothing_is_opened(author: Desk) -> None:
    author.use("write_file", path="broken", content="")
    author.use("bash", command="git add -A && git commit -qm Broken")

    result = author.use("forgejo_create_pr", title="Broken")

    assert result.failed and not result.ends and "verify" in result.text
    assert author.alice.pulls(REPOSITORY) == []


def test_the_same_proposal_after_a_restart_opens_no_second_one(author: Desk) -> None:
    author.use("bash", command="echo x > x && git add -A && git commit -qm X")
    author.use("forgejo_create_pr", call="c9", title="X")

    again = author.again("forgejo_create_pr", call="c9", title="X")

    assert again.ends and len(author.alice.pulls(REPOSITORY)) == 1


@pytest.mark.parametrize(("name", "value"), [("head", "main"), ("base", "no-such-branch"), ("head", "-x")])
def test_other_branches_cannot_be_named(author: Desk, name: str, value: str) -> None:
    author.use("bash", command="echo x > x && git add -A && git commit -qm X")

    result = author.use("forgejo_create_pr", title="X", **{name: value})

    assert result.failed, result.text
    assert author.alice.pulls(REPOSITORY) == []


def test_neither_token_nor_state_nor_remote_can_be_had_in_the_worktree(author: Desk) -> None:
    if author.toolbox.scope.ground.sandbox.name == "none":
        pytest.skip("no sandbox here")
    state = author.context.config.state_dir
    script = f"env; git config --list; git remote -v; find '{state}' -type f -exec cat {{}} +"

    shown = author.use("bash", command=script).text

    assert "user.name=" in shown and author.forge.token("fordjent") not in shown
    assert "control.git" not in author.use("bash", command=f"find '{state}' -name config").text


def test_code_is_searched_in_the_worktree(author: Desk) -> None:
    author.use("write_file", path="new.py", content="needle = 1\n")

    assert author.use("forgejo_search_code", query="needle").text == "new.py:1:needle = 1"
    assert author.use("forgejo_search_code", query="nowhere to be found").text == "found nowhere"
    assert author.use("forgejo_search_code", query="--help").text == "found nowhere"


def test_a_pull_request_is_read_as_files_and_as_a_diff(reviewed: Desk) -> None:
    assert reviewed.use("forgejo_list_prs").text == "#2 open: Make it fast (faster into main, by alice)"
    assert reviewed.use("forgejo_pr_files").text.splitlines() == [
        "added docs/a.md (+1 -0)",
        "added fast.py (+1 -0)",
    ]
    assert "+x = 1" in reviewed.use("forgejo_pr_diff").text
    one = reviewed.use("forgejo_pr_diff", path="docs/a.md").text
    assert "+fast" in one and "x = 1" not in one
    assert "does not change" in reviewed.use("forgejo_pr_diff", path="a.md").text


def test_a_review_has_its_verdict_and_its_remarks_once(reviewed: Desk) -> None:
    arguments = {
        "event": "REQUEST_CHANGES",
        "body": "Not yet.",
        "comments": [{"path": "fast.py", "line": 1, "body": "Say why 1."}],
    }

    first = reviewed.use("forgejo_review", call="r", **arguments)
    again = reviewed.again("forgejo_review", call="r", **arguments)

    assert not first.failed and first.text == again.text, first.text
    reviews = reviewed.alice.do("GET", f"/repos/{REPOSITORY}/pulls/2/reviews")
    assert [(each["state"], each["user"]["login"]) for each in reviews] == [("REQUEST_CHANGES", "fordjent")]
    assert reviews[0]["comments_count"] == 1


def test_a_remark_needs_one_line(reviewed: Desk) -> None:
    for lines in ({}, {"line": 1, "old_line": 1}):
        remark = {"path": "fast.py", "body": "x", **lines}
        assert reviewed.use("forgejo_review", event="COMMENT", body="x", comments=[remark]).failed


def test_a_session_about_an_issue_must_name_the_pull_request(desk: Desk) -> None:
    assert "name the pull request" in desk.use("forgejo_pr_files").text


def test_people_merge_unless_the_policy_says_otherwise(place: Path, forge: StandIn, reviewed: Desk) -> None:
    with desks.at(place / "state", forge, key=f"{REPOSITORY}/issues/1") as desk:
        result = desk.use("forgejo_merge_pr", pr_number=2)

    assert result.failed and "people merge here" in result.text
    assert not forge.api_as("alice").pull(REPOSITORY, 2)["merged"]


def test_with_the_policy_auto_it_is_merged_and_again_is_success(
    place: Path, forge: StandIn, reviewed: Desk
) -> None:
    with desks.at(place / "state", forge, more='[policy]\nmerge = "auto"\n') as desk:
        first = desk.use("forgejo_merge_pr", pr_number=2, style="squash")
        second = desk.use("forgejo_merge_pr", pr_number=2)

    assert not first.failed and not second.failed, first.text
    assert "already" in second.text and forge.api_as("alice").pull(REPOSITORY, 2)["merged"]
