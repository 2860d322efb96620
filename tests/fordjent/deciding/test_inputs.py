"""When what a session is told may start a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fordjent.deciding.actions import Input
from fordjent.store import inputs, sessions, transitions
from fordjent.store.database import Database
from fordjent.store.sessions import Session

KEY = "acme/widget/issues/1"
PULL = "acme/widget/pulls/7"

Write = Callable[..., Any]


@pytest.fixture
def write(place: Path) -> Iterator[Write]:
    database = Database.open(f"sqlite:///{place / 'fordjent.db'}")
    yield lambda function, *args, **named: database.submit(function, *args, **named).result()
    database.close()


def comment(number: int) -> Input:
    return Input(kind="comment", source=f"comment:{number}", author="bob", text=f"text {number}", at=5.0)


def fed(write: Write, number: int, now: float, quiet: float = 2.0, **more: Any) -> Session:
    write(inputs.feed, KEY, "implementer", comment(number), None, now, quiet, **more)
    return ready(write)


def ready(write: Write, key: str = KEY) -> Session:
    found = write(sessions.get, key)
    assert isinstance(found, Session)
    return found


def test_each_input_begins_the_quiet_time_anew_at_most_five_times_as_long(write: Write) -> None:
    times = [fed(write, number, 100.0 + number).ready_at for number in range(14)]
    assert times[:3] == [102.0, 103.0, 104.0]
    assert times[8:] == [110.0] * 6


def test_the_first_input_after_a_run_took_them_begins_a_new_burst(write: Write) -> None:
    fed(write, 1, 100.0)
    assert write(inputs.take, KEY, "run-1") == [comment(1)]
    assert (ready(write).ready_at, ready(write).first_input_at) == (None, None)
    assert fed(write, 2, 200.0).ready_at == 202.0
    assert write(inputs.take, KEY, "run-1") == [comment(2)]
    assert write(inputs.of_run, KEY, "run-1") == [comment(1), comment(2)]
    assert write(inputs.take, KEY, "run-1") == []


def test_one_source_is_one_input_also_after_it_was_given(write: Write) -> None:
    fed(write, 1, 100.0)
    write(inputs.take, KEY, "run-1")
    assert write(inputs.feed, KEY, "pm", comment(1), None, 300.0, 2.0) is False
    assert (ready(write).ready_at, ready(write).role) == (None, "implementer")


def test_the_breaker_is_waited_out(write: Write) -> None:
    assert fed(write, 1, 100.0, not_before=900.0).ready_at == 900.0
    assert fed(write, 2, 101.0, not_before=900.0).ready_at == 900.0


def test_a_session_begins_with_a_change_of_state(write: Write) -> None:
    fed(write, 1, 100.0)
    [begun] = write(transitions.of, KEY)
    assert (begun.from_state, begun.to_state) == ("", "created")


def test_a_person_makes_it_begin_anew_and_the_bot_does_not(write: Write) -> None:
    fed(write, 1, 100.0)
    write(sessions.note, KEY, failures=3)
    assert fed(write, 2, 101.0, by_person=False).failures == 3
    assert fed(write, 3, 102.0).failures == 0


def test_what_is_known_of_a_pull_request_is_kept(write: Write) -> None:
    write(inputs.feed, PULL, "reviewer", comment(1), None, 1.0, 2.0, branch="topic", base="main", pull=7)
    write(inputs.feed, PULL, "reviewer", comment(2), None, 2.0, 2.0)
    found = ready(write, PULL)
    assert (found.branch, found.base, found.pull, found.kind, found.number) == (
        "topic",
        "main",
        7,
        "pulls",
        7,
    )


def test_a_cancelled_session_waits_until_it_is_told_something(write: Write) -> None:
    fed(write, 1, 100.0)
    assert write(inputs.cancel, KEY, "closed by bob") is False  # nothing ran
    assert (ready(write).ready_at, ready(write).cancel) == (None, "")
    assert write(inputs.waiting, KEY) == [comment(1)]
    write(sessions.claim_one, KEY, "me", 100.0, 200.0)
    assert write(inputs.cancel, KEY, "closed by bob") is True
    assert ready(write).cancel == "closed by bob"
    assert fed(write, 2, 101.0).cancel == ""
    assert write(inputs.waiting, KEY) == [comment(1), comment(2)]


def test_nothing_is_cancelled_that_there_is_not(write: Write) -> None:
    assert write(inputs.cancel, KEY, "closed by bob") is False
    write(inputs.close, KEY)
    assert write(sessions.get, KEY) is None


def test_sources_are_found_by_their_beginning_literally(write: Write) -> None:
    fed(write, 1, 100.0)
    assert write(inputs.sources, KEY, "comment:") == {"comment:1"}
    assert write(inputs.sources, KEY, "c%") == set()
