"""Gate 2: the newest base comes under the branch, what others pushed comes in, and a conflict changes nothing."""

from __future__ import annotations

from fordjent.gates import push, stale
from fordjent.gates.gate import Blocked, Passed
from fordjent.workspaces.place import Place
from tests.support.proposals import REPOSITORY, Desk
from tests.support.workshop import agent, commit


def verdict(at: Desk, place: Place) -> Passed | Blocked:
    return at.run(stale.check(at.proposal(place)))


def pushed(at: Desk, place: Place) -> Passed | Blocked:
    return at.run(push.check(at.proposal(place)))


def test_a_branch_on_the_newest_base_stays_as_it_is(at: Desk) -> None:
    place = at.issue()
    made = commit(place, {"c.txt": "c\n"})
    assert verdict(at, place) == Passed(gate="stale", commit=made)


def test_a_newer_base_comes_under_it_with_author_and_message_kept(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"}, "[agent-automation] Add c")
    newer = at.alice.push(REPOSITORY, "main", {"d.txt": "d\n"})
    found = verdict(at, place)
    assert isinstance(found, Passed) and "rebased onto main" in found.note
    assert place.control.is_ancestor(newer, place.head())
    assert (place.path / "d.txt").exists() and place.is_clean()
    assert agent(place, "log", "-1", "--format=%an|%s") == "Fordjent|[agent-automation] Add c"
    assert agent(place, "status", "--porcelain") == ""


def test_a_conflict_names_its_files_and_changes_nothing(at: Desk) -> None:
    place = at.issue()
    made = commit(place, {"a.txt": "ours\n"})
    at.alice.push(REPOSITORY, "main", {"a.txt": "theirs\n"})
    found = verdict(at, place)
    assert isinstance(found, Blocked) and found.files == ["a.txt"]
    assert place.head() == made and place.is_clean() and place.standing() == "on branch"


def test_an_agent_that_merged_the_base_by_itself_passes(at: Desk) -> None:
    place = at.issue()
    commit(place, {"a.txt": "ours\n"})
    at.alice.push(REPOSITORY, "main", {"a.txt": "theirs\n"})
    verdict(at, place)
    agent(place, "merge", "origin/main", check=False)
    (place.path / "a.txt").write_text("both\n")
    agent(place, "commit", "-qam", "Merge")
    assert isinstance(verdict(at, place), Passed) and (place.path / "a.txt").read_text() == "both\n"


def test_what_a_person_pushed_meanwhile_is_taken_in(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    assert isinstance(pushed(at, place), Passed)
    theirs = at.alice.push(REPOSITORY, place.branch, {"theirs.txt": "t\n"})
    commit(place, {"d.txt": "d\n"})
    found = pushed(at, place)
    assert isinstance(found, Blocked) and at.on_forge(place.branch) == theirs
    assert isinstance(verdict(at, place), Passed) and isinstance(pushed(at, place), Passed)
    assert place.control.is_ancestor(theirs, at.on_forge(place.branch))
    assert (place.path / "theirs.txt").exists() and (place.path / "d.txt").exists()


def test_a_persons_commit_that_conflicts_is_for_the_agent(at: Desk) -> None:
    place = at.issue()
    at.alice.push(REPOSITORY, place.branch, {"a.txt": "theirs\n"})
    made = commit(place, {"a.txt": "ours\n"})
    found = verdict(at, place)
    assert isinstance(found, Blocked) and found.files == ["a.txt"] and place.head() == made


def test_a_persons_commit_that_the_agent_rewrote_away_is_not_lost(at: Desk) -> None:
    number = at.alice.open_issue(REPOSITORY, "x")
    at.alice.push(REPOSITORY, f"fordjent/issue-{number}", {"theirs.txt": "t\n"}, "Theirs")
    place = at.session(number)
    agent(place, "reset", "-q", "--hard", "origin/main")
    commit(place, {"c.txt": "c\n"})
    found = verdict(at, place)
    assert isinstance(found, Blocked) and "Theirs" in found.reason


def test_a_rebase_that_a_kill_cut_off_between_files_and_branch_is_ended(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    newer = at.alice.push(REPOSITORY, "main", {"d.txt": "d\n"})
    at.workspaces.fetch(REPOSITORY)
    tip = stale.replaying.put_on_top(place.control, [place.head()], newer)
    assert tip
    from fordjent.workspaces.place import moving_ref
    from harness.worktrees import moving

    registered = place.spot.registration()
    assert registered
    place.control.update_ref(moving_ref(place.spot), tip)
    moving.bring(place.spot, registered, place.head(), tip, [])  # and no more: killed
    again = at.workspaces.prepare(place.key)
    assert again.head() == tip and again.is_clean()
