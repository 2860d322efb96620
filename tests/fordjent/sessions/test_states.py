"""States: one table, and a row with a reason for each change."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

import pytest
from sqlalchemy import Connection, create_engine, insert

from fordjent.sessions import states
from fordjent.sessions.states import ImpossibleChange, State
from fordjent.store import sessions, transitions
from fordjent.store.schema import metadata
from fordjent.store.schema import sessions as table

KEY = "acme/widget/issues/1"


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    with engine.begin() as opened:
        opened.execute(
            insert(table).values(
                key=KEY, repository="acme/widget", kind="issues", number=1, created_at=1.0, changed_at=1.0
            )
        )
        yield opened


@pytest.mark.parametrize(("old", "new"), list(product(get_args(State), repeat=2)))
def test_what_the_table_does_not_have_is_refused(old: State, new: State) -> None:
    why: states.Why = "error" if new == "failed" else ""
    if new in states.ALLOWED[old]:
        states.check(old, new, why)
    else:
        with pytest.raises(ImpossibleChange):
            states.check(old, new, why)


def test_work_comes_before_any_outcome() -> None:
    outcomes = {"completed", "failed", "blocked"}
    for state in ("created", "blocked", "completed", "failed"):
        assert not states.ALLOWED[state] & outcomes  # type: ignore[index]


def test_only_a_failure_has_a_reason_of_a_failure() -> None:
    with pytest.raises(ImpossibleChange):
        states.check("working", "failed")
    with pytest.raises(ImpossibleChange):
        states.check("working", "completed", "error")


def test_each_change_is_a_row_with_its_reason(connection: Connection) -> None:
    assert transitions.change(connection, KEY, "working", "the issue was opened", 2.0)
    assert transitions.change(connection, KEY, "failed", "the model does not answer", 3.0, "error")
    rows = [(row.from_state, row.to_state, row.reason) for row in transitions.of(connection, KEY)]
    assert rows == [
        ("created", "working", "the issue was opened"),
        ("working", "failed", "the model does not answer"),
    ]
    session = sessions.get(connection, KEY)
    assert session and (session.state, session.failure, session.changed_at) == ("failed", "error", 3.0)


def test_a_refused_change_changes_nothing(connection: Connection) -> None:
    with pytest.raises(ImpossibleChange):
        transitions.change(connection, KEY, "completed", "so it says", 2.0)
    session = sessions.get(connection, KEY)
    assert session and session.state == "created" and transitions.of(connection, KEY) == []


def test_a_state_that_it_has_already_is_no_change(connection: Connection) -> None:
    transitions.change(connection, KEY, "working", "the issue was opened", 2.0)
    assert not transitions.change(connection, KEY, "working", "it goes on", 3.0)
    assert len(transitions.of(connection, KEY)) == 1
