"""Gates 5 and 6, and all of them: what overlaps waits and goes on by itself; a pull request is opened once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fordjent.config import Policy
from fordjent.gates import merge_queue
from fordjent.gates.gate import Blocked, Opened, Waiting
from fordjent.gates.merging import retry_waiting
from fordjent.gates.pull_requests import propose
from fordjent.sessions import showing
from fordjent.store import gate_results, inputs, sessions, waiting_merges
from fordjent.workspaces.place import Place
from harness.errors import TryLater
from tests.support.forge.server import StandIn
from tests.support.proposals import REPOSITORY, Desk, desk
from tests.support.workshop import commit

NAMES = st.sampled_from("abcdef")


@pytest.fixture
def by_conflict(place: Path, forge: StandIn) -> Iterator[Desk]:
    with desk(place, forge, policy=Policy(merge_queue="conflict")) as made:
        yield made


def proposed(at: Desk, place: Place, **more: object) -> Opened | Blocked | Waiting:
    return at.run(propose(at.proposal(place, **more)))


def opened(at: Desk, place: Place, **more: object) -> Opened:
    verdict = proposed(at, place, **more)
    assert isinstance(verdict, Opened), verdict
    return verdict


def test_a_branch_becomes_a_pull_request(at: Desk) -> None:
    place = at.issue()
    made = commit(place, {"c.txt": "c\n"})
    verdict = opened(at, place)
    pull = at.alice.pull(REPOSITORY, verdict.number)
    assert (pull["head"]["sha"], pull["base"]["ref"]) == (made, "main")
    assert pull["user"]["login"] == "fordjent" and pull["body"].endswith("<!-- ford -->")
    found = at.context.database.look(gate_results.of_key, str(place.key))
    assert [(one.gate, one.passed, one.commit) for one in found] == [
        (name, True, made) for name in ("branch", "stale", "verify", "push", "merge_queue", "opening")
    ]


def test_one_that_is_open_is_taken_up(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    first = opened(at, place)
    commit(place, {"c.txt": "more\n"})
    again = opened(at, place, effect="another")
    assert again.existing and again.number == first.number
    assert len(at.alice.pulls(REPOSITORY)) == 1


def test_a_label_or_reviewer_that_cannot_be_set_takes_nothing_with_it(at: Desk) -> None:
    at.forge.user("carol")
    at.forge.world.repositories[REPOSITORY].collaborators["carol"] = "write"
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    verdict = opened(at, place, labels=("good",), reviewers=("carol", "nobody-of-that-name"))
    assert "nobody-of-that-name" in "".join(verdict.notes)
    pull = at.alice.pull(REPOSITORY, verdict.number)
    assert [one["login"] for one in pull["requested_reviewers"]] == ["carol"]
    assert at.alice.labels(REPOSITORY, verdict.number) == ["good"]


def test_a_file_that_another_changes_waits_and_is_opened_when_that_is_merged(at: Desk) -> None:
    at.alice.push(REPOSITORY, "theirs", {"b.txt": "theirs\n", "x.txt": "x\n"})
    other = at.alice.open_pull(REPOSITORY, "theirs", "Theirs")
    place = at.session(at.alice.open_issue(REPOSITORY, "x"), state="waiting")
    made = commit(place, {"a.txt": "ours\n", "x.txt": "x\n"})
    verdict = proposed(at, place)
    assert isinstance(verdict, Waiting)
    assert (verdict.for_pulls, verdict.files) == ([other], ["x.txt"])
    assert at.on_forge(place.branch) == made  # it keeps its branch
    row = at.context.database.look(waiting_merges.of_key, str(place.key))
    assert row and row.waits_for == [other]
    assert [type(one) for one in at.run(retry_waiting(at.context, REPOSITORY))] == [Waiting]
    at.alice.merge(REPOSITORY, other)
    [after] = at.run(retry_waiting(at.context, REPOSITORY))
    assert isinstance(after, Opened)
    assert at.context.database.look(waiting_merges.of_key, str(place.key)) is None
    session = at.context.database.look(sessions.get, str(place.key))
    assert session and (session.state, session.pull) == ("completed", after.number)
    assert at.alice.labels(REPOSITORY, place.key.number) == ["review"]
    assert at.run(retry_waiting(at.context, REPOSITORY)) == []


def test_what_conflicts_once_the_other_is_merged_goes_back_to_the_agent(at: Desk) -> None:
    at.alice.push(REPOSITORY, "theirs", {"a.txt": "theirs\n"})
    other = at.alice.open_pull(REPOSITORY, "theirs", "Theirs")
    place = at.session(at.alice.open_issue(REPOSITORY, "x"), state="waiting")
    commit(place, {"a.txt": "ours\n"})
    assert isinstance(proposed(at, place), Waiting)
    at.alice.merge(REPOSITORY, other)
    [after] = at.run(retry_waiting(at.context, REPOSITORY))
    assert isinstance(after, Blocked) and after.files == ["a.txt"]
    [told] = at.context.database.look(inputs.waiting, str(place.key))
    assert told.kind == "retry" and "a.txt" in told.text
    assert at.run(retry_waiting(at.context, REPOSITORY)) == []


def test_nothing_is_opened_for_an_issue_that_was_closed(at: Desk) -> None:
    at.alice.push(REPOSITORY, "theirs", {"a.txt": "theirs\n"})
    other = at.alice.open_pull(REPOSITORY, "theirs", "Theirs")
    place = at.issue()
    commit(place, {"a.txt": "ours\n"})
    proposed(at, place)
    at.alice.close(REPOSITORY, place.key.number)
    at.alice.close(REPOSITORY, other)
    assert at.run(retry_waiting(at.context, REPOSITORY)) == [] and at.alice.pulls(REPOSITORY) == []


def test_a_session_that_is_at_work_is_left_alone_for_now(at: Desk) -> None:
    at.alice.push(REPOSITORY, "theirs", {"a.txt": "theirs\n"})
    at.alice.open_pull(REPOSITORY, "theirs", "Theirs")
    place = at.issue()
    commit(place, {"a.txt": "ours\n"})
    proposed(at, place)
    at.context.database.submit(sessions.claim_one, str(place.key), "a worker", 1.0, 9e9).result()
    with pytest.raises(TryLater):
        at.run(retry_waiting(at.context, REPOSITORY))


def test_by_conflict_only_what_git_cannot_merge_waits(by_conflict: Desk) -> None:
    at = by_conflict
    at.alice.push(REPOSITORY, "theirs", {"a.txt": "one\ntwo\nthree\nfour\n", "b.txt": "theirs\n"})
    other = at.alice.open_pull(REPOSITORY, "theirs", "Theirs")
    place = at.issue()
    commit(place, {"a.txt": "zero\none\ntwo\nthree\n"})
    assert isinstance(proposed(at, place), Opened)
    conflicting = at.issue()
    commit(conflicting, {"b.txt": "ours\n"})
    verdict = proposed(at, conflicting)
    assert isinstance(verdict, Waiting)
    assert (verdict.for_pulls, verdict.files) == ([other], ["b.txt"])


def test_every_page_of_open_pull_requests_counts(at: Desk) -> None:
    for number in range(52):
        at.alice.push(REPOSITORY, f"theirs-{number}", {f"f{number}.txt": "x\n"})
        at.alice.open_pull(REPOSITORY, f"theirs-{number}", f"Theirs {number}")
    place = at.issue()
    commit(place, {"f51.txt": "ours\n"})
    verdict = at.run(merge_queue.check(at.proposal(place)))
    assert isinstance(verdict, Waiting) and verdict.files == ["f51.txt"]


def test_of_two_at_once_one_waits_for_the_other(at: Desk) -> None:
    places = [at.issue(), at.issue()]
    for place in places:
        commit(place, {"a.txt": f"{place.key.number}\n"})

    async def both() -> Sequence[object]:
        return await asyncio.gather(*(propose(at.proposal(place)) for place in places))

    verdicts = at.run(both())
    assert sorted(type(one).__name__ for one in verdicts) == ["Opened", "Waiting"]


def test_an_answer_of_the_forge_that_was_lost_opens_no_second_one(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    at.forge.fail_next("POST", "/pulls$", "lost")
    assert isinstance(proposed(at, place), Opened)
    assert len(at.alice.pulls(REPOSITORY)) == 1


@given(st.sets(NAMES), st.dictionaries(st.integers(1, 4), st.sets(NAMES)))
def test_who_overlaps(ours: set[str], theirs: dict[int, set[str]]) -> None:
    found = merge_queue.overlapping(ours, theirs)
    for number, files in theirs.items():
        assert set(found.get(number, [])) == ours & files
    assert all(found.values())


def test_a_retry_that_ended_before_it_was_shown_is_made_good(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.alice.push(REPOSITORY, "theirs", {"a.txt": "theirs\n"})
    other = at.alice.open_pull(REPOSITORY, "theirs", "Theirs")
    place = at.session(at.alice.open_issue(REPOSITORY, "x"), state="waiting")
    commit(place, {"a.txt": "ours\n"})
    assert isinstance(proposed(at, place), Waiting)
    at.alice.close(REPOSITORY, other)

    async def ended(*_: object) -> None:
        raise TryLater("ended here")

    with monkeypatch.context() as patched:
        patched.setattr(showing, "show", ended)
        with pytest.raises(TryLater):
            at.run(retry_waiting(at.context, REPOSITORY))
    [after] = at.run(retry_waiting(at.context, REPOSITORY))
    assert isinstance(after, Opened) and len(at.alice.pulls(REPOSITORY)) == 1
    assert at.alice.labels(REPOSITORY, place.key.number) == ["review"]
