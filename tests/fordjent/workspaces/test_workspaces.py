"""A session's worktree: exactly the forge's branch with what is ours on top, whatever happened before."""

from __future__ import annotations

from pathlib import Path

import pytest

from fordjent.session_key import SessionKey
from fordjent.workspaces.workspaces import EmptyRepository
from harness.errors import BadData, TryLater
from tests.support.workshop import ISSUE, TOKEN, Workshop, agent, commit

PULL = SessionKey("acme/widget", "pulls", 7)
BRANCH = "fordjent/issue-1"


@pytest.fixture
def workshop(place: Path) -> Workshop:
    made = Workshop(place)
    made.begin({"README.md": "# Widget\n", "a.txt": "one\ntwo\nthree\n"})
    return made


def test_a_new_issue_begins_at_the_default_branch_whatever_its_name(workshop: Workshop) -> None:
    place = workshop.prepare()
    assert (place.branch, place.base, place.start) == (BRANCH, "trunk", workshop.head("trunk"))
    assert (place.path / "README.md").read_text() == "# Widget\n"
    assert agent(place, "rev-parse", "--abbrev-ref", "HEAD") == BRANCH
    assert place.is_clean() and place.standing() == "on branch"


def test_prepared_again_nothing_changes(workshop: Workshop) -> None:
    place = workshop.prepare()
    made = commit(place, {"b.txt": "b\n"})
    (place.path / "open.txt").write_text("not committed\n")
    again = workshop.prepare()
    assert not again.created and again.start == made
    assert (place.path / "open.txt").read_text() == "not committed\n"
    assert again.uncommitted() == ["open.txt"]


def test_a_deleted_worktree_comes_back_with_its_commits(workshop: Workshop) -> None:
    from shutil import rmtree

    place = workshop.prepare()
    made = commit(place, {"b.txt": "b\n"})
    rmtree(place.path)
    again = workshop.prepare()
    assert again.created and again.start == made and (again.path / "b.txt").exists()


def test_what_a_person_pushed_and_what_is_ours_are_both_there(workshop: Workshop) -> None:
    place = workshop.prepare()
    commit(place, {"ours.txt": "ours\n"})
    theirs = workshop.push(BRANCH, {"theirs.txt": "theirs\n"})
    again = workshop.prepare()
    assert {"ours.txt", "theirs.txt"} <= {path.name for path in again.path.iterdir()}
    assert again.control.is_ancestor(theirs, again.start) and again.seen == theirs


def test_where_they_conflict_the_persons_stands_and_ours_is_kept(workshop: Workshop) -> None:
    place = workshop.prepare()
    ours = commit(place, {"a.txt": "ours\n"})
    theirs = workshop.push(BRANCH, {"a.txt": "theirs\n"})
    again = workshop.prepare()
    assert again.start == theirs
    assert [again.control.resolve(ref) for ref in again.kept] == [ours]


def test_a_rebase_that_a_kill_left_half_way_is_ended_and_kept(workshop: Workshop) -> None:
    place = workshop.prepare()
    ours = commit(place, {"a.txt": "ours\n"})
    workshop.push("trunk", {"a.txt": "theirs\n"})
    workshop.workspaces.fetch("acme/widget")
    agent(place, "rebase", "origin/trunk", check=False)
    assert place.standing() == "half-way"
    again = workshop.prepare()
    assert again.standing() == "on branch" and again.start == ours and again.is_clean()


def test_feedback_works_on_the_pull_requests_branch_and_the_issues_worktree_lets_go(
    workshop: Workshop,
) -> None:
    first = workshop.prepare()
    made = commit(first, {"b.txt": "b\n"})
    (first.path / "open.txt").write_text("not committed\n")
    place = workshop.prepare(PULL, BRANCH)
    assert place.branch == BRANCH and place.start == made and place.path != first.path
    more = commit(place, {"c.txt": "c\n"})
    back = workshop.prepare()
    assert back.start == more and back.path == first.path
    assert (back.path / "open.txt").read_text() == "not committed\n"
    assert (back.path / "c.txt").exists() and place.standing() == "elsewhere"


def test_a_worktree_that_an_agent_locked_is_used_all_the_same(workshop: Workshop) -> None:
    place = workshop.prepare()
    agent(place, "worktree", "lock", str(place.path))
    assert workshop.prepare().path == place.path


def test_a_review_is_at_exactly_the_head_of_the_pull_request(workshop: Workshop) -> None:
    first = workshop.push("feature", {"b.txt": "b\n"})
    workshop.origin.update_ref("refs/pull/7/head", first)
    place = workshop.workspaces.prepare_for_reading(PULL)
    assert place.start == first and place.for_reading
    other = workshop.push("other", {"c.txt": "c\n"})
    workshop.origin.update_ref("refs/pull/7/head", other)  # forced
    again = workshop.workspaces.prepare_for_reading(PULL)
    assert again.start == other and not (again.path / "b.txt").exists() and again.is_clean()


def test_left_overs_are_committed_but_for_what_must_not_be(workshop: Workshop) -> None:
    place = workshop.prepare()
    (place.path / "half.py").write_text("print(1)\n")
    (place.path / "key.pem").write_text("-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 200 + "\n")
    (place.path / "big.bin").write_bytes(b"\0" * (11 << 20))
    kept = place.commit_left_overs("Add a widget")
    assert kept.paths == ["half.py"]
    assert {one.path for one in kept.withheld} == {"key.pem", "big.bin"}
    assert place.head() == kept.commit
    subject = place.control.text("log", "-1", "--format=%s|%an", kept.commit)
    assert subject == "[agent-automation] WIP: Add a widget|Fordjent"
    assert agent(place, "status", "--porcelain").split("\n") == ["?? big.bin", "?? key.pem"]
    assert place.commit_left_overs("Add a widget").commit == ""


def test_left_overs_on_a_rebase_half_way_are_not_lost(workshop: Workshop) -> None:
    place = workshop.prepare()
    ours = commit(place, {"a.txt": "ours\n"})
    workshop.push("trunk", {"a.txt": "theirs\n"})
    workshop.workspaces.fetch("acme/widget")
    agent(place, "rebase", "origin/trunk", check=False)
    (place.path / "new.txt").write_text("new\n")
    kept = place.commit_left_overs("Add a widget")
    assert kept.paths == ["new.txt"] and place.control.is_ancestor(ours, place.head())


def test_an_empty_repository_says_so(place: Path) -> None:
    workshop = Workshop(place)
    workshop.begin()
    assert workshop.workspaces.fetch("acme/widget").is_empty
    with pytest.raises(EmptyRepository):
        workshop.prepare()


def test_names_of_repositories_differ_by_more_than_case(workshop: Workshop) -> None:
    pair = workshop.workspaces.pair
    assert pair("Acme/Widget").root == pair("acme/widget").root


@pytest.mark.parametrize("name", ["../x/y", "acme", "acme/..", "acme/w/x", "-/\n", "acme/wid get"])
def test_what_is_no_name_of_a_repository_reaches_no_disk(workshop: Workshop, name: str) -> None:
    with pytest.raises(BadData):
        workshop.workspaces.pair(name)


def test_a_branch_name_that_git_does_not_take_is_refused(workshop: Workshop) -> None:
    for name in ("--upload-pack=x", "a..b", "@{-1}", "a b"):
        with pytest.raises(BadData):
            workshop.prepare(ISSUE, name)


def test_a_forge_that_is_gone_is_for_later(workshop: Workshop) -> None:
    (workshop.folder / "forge").rename(workshop.folder / "elsewhere")
    with pytest.raises(TryLater) as raised:
        workshop.prepare()
    assert raised.value.code == "not_a_repository"


def test_a_worktree_goes_only_when_all_of_it_is_on_the_forge(workshop: Workshop) -> None:
    place = workshop.prepare()
    made = commit(place, {"b.txt": "b\n"})
    assert "commits that origin does not have" in workshop.workspaces.remove(ISSUE)
    place.head()
    place.control.run("push", "-q", "origin", f"{made}:refs/heads/{BRANCH}")
    assert workshop.workspaces.remove(ISSUE) == "" and not place.path.exists()


def test_what_an_agent_plants_does_not_run(workshop: Workshop) -> None:
    place = workshop.prepare()
    trap, ran = workshop.folder / "trap", workshop.folder / "ran"
    trap.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "filter.x.clean", "core.sshCommand", "remote.origin.uploadpack"):
        agent(place, "config", key, str(trap))
    agent(place, "config", "core.hooksPath", str(workshop.folder))
    (place.path / ".gitattributes").write_text("* filter=x\n")
    (place.path / "a.txt").write_text("changed\n")
    workshop.prepare().commit_left_overs("x")
    assert not ran.exists()


def test_the_token_stands_in_one_file_that_only_we_can_read(workshop: Workshop) -> None:
    place = workshop.prepare()
    state = workshop.folder / "state"
    with_token = [path for path in state.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert [path.parent.name for path in with_token] == ["credentials"]
    assert with_token[0].stat().st_mode & 0o077 == 0
    assert TOKEN not in repr(place.control.environment)
