"""Checks of a pull request: waited for with an end, their failures mended a few times, and merged after them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fordjent.config import Policy
from fordjent.forge.forge import ATTEMPTS
from fordjent.forge.types import Status
from fordjent.gates import checks, ci, merging, pull_requests
from fordjent.gates.ci import GRACE_SECONDS, Checks
from fordjent.gates.gate import Opened
from fordjent.store import inputs, pausing, sessions, transitions, waiting_checks
from fordjent.store.sessions import Session
from fordjent.store.waiting_checks import WaitingCheck
from fordjent.workspaces.place import Place
from tests.support.forge.server import StandIn
from tests.support.proposals import REPOSITORY, Desk, desk

LOG = "https://ci.example.org/runs/7"
HOUR = 3600.0


# ---- the verdict


def reported(**states: str) -> Checks:
    return Checks("c0ffee", tuple(Status(context=name, status=state) for name, state in states.items()))


@pytest.mark.parametrize(
    ("found", "waited", "expected", "verdict"),
    [
        (reported(build="success", lint="warning"), 0, True, "passed"),
        (reported(build="pending", lint="success"), HOUR - 1, True, "pending"),
        (reported(build="pending", lint="success"), HOUR, True, "late"),
        (reported(build="failure"), 0, True, "failed"),
        (reported(build="error", lint="success"), 0, False, "failed"),
        (reported(build="failure", lint="pending"), 60, True, "pending"),
        (reported(build="failure", lint="pending"), HOUR, True, "failed"),
        (reported(), 0, False, "none"),
        (reported(), GRACE_SECONDS - 1, True, "pending"),
        (reported(), GRACE_SECONDS, True, "none"),
    ],
)
def test_what_checks_come_to(found: Checks, waited: float, expected: bool, verdict: str) -> None:
    assert ci.judge(found, waited_seconds=waited, timeout_seconds=HOUR, expected=expected) == verdict


def test_the_agent_is_told_each_failure_with_its_words_and_its_log() -> None:
    found = Checks(
        "c0ffee00c0ffee00",
        (
            Status(context="build", status="failure", description="2 tests failed", target_url=LOG),
            Status(context="lint", status="success"),
        ),
    )
    text = ci.told(found, 7)
    assert f"- build (failure): 2 tests failed {LOG}" in text
    assert "#7" in text and "c0ffee00c0ff" in text and "lint success" in text


# ---- beside a forge


@pytest.fixture
def auto(place: Path, forge: StandIn) -> Iterator[Desk]:
    with desk(place, forge, policy=Policy(merge="auto")) as made:
        yield made


def opened(at: Desk, *, workflow: bool = True) -> tuple[Place, int, str]:
    """A session whose run has just opened a pull request, its number and its head."""
    place = at.issue()
    files = {"c.txt": "c\n"} | ({".forgejo/workflows/ci.yml": "on: push\n"} if workflow else {})
    for name, text in files.items():
        (place.path / name).parent.mkdir(parents=True, exist_ok=True)
        (place.path / name).write_text(text)
    place.commit_left_overs("Add c")
    verdict = at.run(pull_requests.propose(at.proposal(place)))
    assert isinstance(verdict, Opened), verdict
    return place, verdict.number, place.head()


def waits(at: Desk, place: Place, number: int) -> WaitingCheck | None:
    """As at the end of its run: the session waits, if there is something to wait for."""
    key = str(place.key)
    row = at.run(checks.awaited(at.context, key, number, place))

    def write(connection: Any) -> None:
        transitions.change(connection, key, "waiting" if row else "completed", "the run ended", time.time())
        if row:
            waiting_checks.put(connection, row)

    at.context.database.submit(write).result()
    return row


def report(at: Desk, commit: str, context: str, state: str, **more: str) -> None:
    made = {"context": context, "state": state, **more}
    at.alice.do("POST", f"/repos/{REPOSITORY}/statuses/{commit}", made)


def look(at: Desk, key: str) -> Session:
    """Asks once, whatever the pause, and says what the session is then."""
    at.context.database.submit(due_now, key).result()
    at.run(checks.look(at.context))
    found = at.context.database.look(sessions.get, key)
    assert found and found.lease_owner == "", "its lease is given back"
    return found


def due_now(connection: Any, key: str) -> None:
    row = waiting_checks.of_key(connection, key)
    if row:
        waiting_checks.later(connection, key, row.looks, 0.0)


def put_back(at: Desk, key: str, seconds: float) -> None:
    """It has waited for so much longer."""

    def write(connection: Any) -> None:
        row = waiting_checks.of_key(connection, key)
        assert row
        fields = {name: getattr(row, name) for name in row.__struct_fields__}
        waiting_checks.put(connection, WaitingCheck(**{**fields, "since": row.since - seconds}))

    at.context.database.submit(write).result()


def row_of(at: Desk, key: str) -> WaitingCheck | None:
    return at.context.database.look(waiting_checks.of_key, key)


def test_without_checks_nothing_is_waited_for(at: Desk) -> None:
    place, number, _ = opened(at, workflow=False)
    assert waits(at, place, number) is None
    assert at.run(checks.look(at.context)) == 0


def test_a_base_that_is_checked_makes_one_wait_too(at: Desk) -> None:
    report(at, at.on_forge("main"), "woodpecker", "success")
    place, number, _ = opened(at, workflow=False)
    row = waits(at, place, number)
    assert row and row.expected


def test_checks_that_never_come_are_waited_for_a_short_grace_only(at: Desk) -> None:
    place, number, _ = opened(at)
    assert waits(at, place, number)
    key = str(place.key)
    assert look(at, key).state == "waiting"
    put_back(at, key, GRACE_SECONDS)
    session = look(at, key)
    assert (session.state, session.reason) == ("completed", f"Pull request #{number} is ready.")
    assert at.alice.labels(REPOSITORY, place.key.number) == ["review"]
    assert row_of(at, key) is None


def test_it_is_ready_when_all_have_passed_and_is_asked_for_less_and_less_often(at: Desk) -> None:
    place, number, head = opened(at)
    report(at, head, "build", "pending")
    waits(at, place, number)
    key = str(place.key)
    pauses = []
    for _ in range(3):
        assert look(at, key).state == "waiting"
        row = row_of(at, key)
        assert row
        pauses.append(round(row.look_at - time.time()))
    assert pauses == sorted(pauses) and pauses[2] > 2 * pauses[0]
    report(at, head, "build", "success")
    assert look(at, key).reason == f"Pull request #{number} is ready. Its checks have passed."
    assert at.alice.labels(REPOSITORY, place.key.number) == ["review"]


def test_what_failed_goes_to_the_session_and_a_person_must_look_in_the_end(at: Desk) -> None:
    place, number, head = opened(at)
    key = str(place.key)
    for turn in range(checks.MENDED + 1):
        report(at, head, "build", "failure", description="2 tests failed", target_url=LOG)
        assert waits(at, place, number)
        session = look(at, key)
        if turn == checks.MENDED:
            break
        assert (session.state, session.ready_at is not None) == ("waiting", True)
        told = at.context.database.look(inputs.waiting, key)
        assert (
            [one.kind for one in told] == ["checks"]
            and "2 tests failed" in told[0].text
            and LOG in told[0].text
        )
        head = mended(at, place, turn)
    assert session.state == "blocked" and f"after {checks.MENDED} tries" in session.reason
    assert f"[build]({LOG})" in session.reason
    assert at.alice.labels(REPOSITORY, place.key.number) == ["blocked"]

    at.context.database.submit(word_of_a_person, key).result()
    assert at.context.database.look(waiting_checks.told, key) == 0, "each word of a person counts anew"


def mended(at: Desk, place: Place, turn: int) -> str:
    """A run takes what waits, and pushes another commit."""

    def begin(connection: Any) -> None:
        inputs.take(connection, str(place.key), f"run-{turn + 2}")
        transitions.change(connection, str(place.key), "working", "checks", time.time())

    at.context.database.submit(begin).result()
    (place.path / "c.txt").write_text(f"try {turn}\n")
    place.commit_left_overs("Mend it")
    verdict = at.run(pull_requests.propose(at.proposal(place, effect=f"mended-{turn}")))
    assert isinstance(verdict, Opened)
    return place.head()


def word_of_a_person(connection: Any, key: str) -> None:
    from fordjent.deciding.actions import Input

    said = Input(kind="comment", source="comment:99", author="alice", text="Go on")
    inputs.feed(connection, key, "implementer", said, None, time.time(), 0.0)


def test_a_commit_whose_failure_was_told_is_not_told_again(at: Desk) -> None:
    place, number, head = opened(at)
    report(at, head, "build", "failure")
    key = str(place.key)
    waits(at, place, number)
    look(at, key)

    def answered(connection: Any) -> None:
        inputs.take(connection, key, "run-2")
        transitions.change(connection, key, "working", "checks", time.time())

    at.context.database.submit(answered).result()
    waits(at, place, number)
    session = look(at, key)
    assert session.state == "blocked" and "still fail" in session.reason


def test_what_does_not_end_in_time_is_said(at: Desk) -> None:
    place, number, head = opened(at)
    report(at, head, "build", "pending")
    waits(at, place, number)
    put_back(at, str(place.key), HOUR)
    session = look(at, str(place.key))
    assert (session.state, session.reason) == (
        "blocked",
        f"Checks of pull request #{number} have not ended within 60m: build.",
    )


def test_a_new_head_is_waited_for_anew(at: Desk) -> None:
    place, number, head = opened(at)
    report(at, head, "build", "failure")
    waits(at, place, number)
    newer = at.alice.push(REPOSITORY, place.branch, {"d.txt": "by a person\n"})
    at.forge.settle()
    assert look(at, str(place.key)).state == "waiting"
    row = row_of(at, str(place.key))
    assert row and row.commit == newer


@pytest.mark.parametrize(("merged", "state"), [(True, "completed"), (False, "blocked")])
def test_a_pull_request_that_is_gone_is_waited_for_no_longer(at: Desk, merged: bool, state: str) -> None:
    place, number, head = opened(at)
    report(at, head, "build", "pending")
    waits(at, place, number)
    if merged:
        at.forge.settle()
        at.alice.merge(REPOSITORY, number)
    else:
        at.alice.do("PATCH", f"/repos/{REPOSITORY}/pulls/{number}", {"state": "closed"})
    assert look(at, str(place.key)).state == state
    assert row_of(at, str(place.key)) is None


def test_an_outage_of_the_forge_and_a_pause_only_make_it_later(at: Desk) -> None:
    place, number, head = opened(at)
    report(at, head, "build", "pending")
    waits(at, place, number)
    report(at, head, "build", "success")
    key = str(place.key)
    at.forge.fail_next("GET", "statuses", 500, ATTEMPTS)
    assert look(at, key).state == "waiting"
    row = row_of(at, key)
    assert row and row.looks == 1
    at.context.database.submit(pausing.begin, "a holiday", False, time.time()).result()
    assert look(at, key).state == "waiting"
    at.context.database.submit(pausing.end).result()
    assert look(at, key).state == "completed"


def test_a_clock_that_was_ahead_makes_nobody_wait_for_ever(at: Desk) -> None:
    place, number, head = opened(at)
    report(at, head, "build", "success")
    key = str(place.key)
    with_clock_ahead = WaitingCheck(
        key=key,
        repository=REPOSITORY,
        pull=number,
        commit=head,
        expected=True,
        since=time.time() + 9 * 86400,
        look_at=time.time() + 9 * 86400,
    )
    waits(at, place, number)
    at.context.database.submit(transitions.change, key, "working", "x", time.time()).result()
    at.context.database.submit(transitions.change, key, "waiting", "x", time.time()).result()
    at.context.database.submit(waiting_checks.put, with_clock_ahead).result()
    at.run(checks.look(at.context))
    row = row_of(at, key)
    assert row and row.since <= time.time()
    assert look(at, key).state == "completed"


# ---- merging


def test_nothing_is_merged_whose_checks_are_not_over(auto: Desk) -> None:
    _, number, head = opened(auto)
    auto.forge.settle()
    for state, why in (("pending", "still running: build"), ("failure", "have failed: build")):
        report(auto, head, "build", state)
        found = auto.run(merging.merge(auto.context, REPOSITORY, number, head))
        assert isinstance(found, merging.NotMerged) and why in found.reason
    report(auto, head, "build", "success")
    assert isinstance(auto.run(merging.merge(auto.context, REPOSITORY, number, head)), merging.Merged)


@pytest.mark.parametrize("workflow", [True, False], ids=["checked", "without checks"])
def test_by_policy_it_is_merged_when_its_checks_have_passed(auto: Desk, workflow: bool) -> None:
    place, number, head = opened(auto, workflow=workflow)
    if workflow:
        report(auto, head, "build", "pending")
    assert waits(auto, place, number)
    key = str(place.key)
    auto.forge.settle()
    if workflow:
        assert look(auto, key).state == "waiting"
        assert not auto.alice.pull(REPOSITORY, number)["merged"]
        report(auto, head, "build", "success")
    session = look(auto, key)
    assert session.state == "completed" and f"#{number} is merged" in session.reason
    assert auto.alice.pull(REPOSITORY, number)["merged"]
