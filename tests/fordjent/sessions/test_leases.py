"""Leases: two workers never hold one session, and what a dead one held is taken over."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import insert

from fordjent.store import sessions
from fordjent.store.database import Database
from fordjent.store.schema import sessions as table


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    opened = Database.open(f"sqlite:///{place}/fordjent.db")
    yield opened
    opened.close()


def add(database: Database, number: int, **values: object) -> str:
    key = f"acme/widget/issues/{number}"
    row = {
        "key": key,
        "repository": "acme/widget",
        "kind": "issues",
        "number": number,
        "created_at": 1.0,
        "changed_at": 1.0,
        "ready_at": 10.0,
        "first_input_at": float(number),
        **values,
    }
    database.submit(lambda connection: connection.execute(insert(table).values(row))).result()
    return key


def claim(database: Database, owner: str, now: float = 10.0, limit: int = 10) -> list[str]:
    return [session.key for session in database.submit(sessions.claim, owner, now, now + 60, limit).result()]


def test_a_session_whose_quiet_time_is_not_over_waits(database: Database) -> None:
    key = add(database, 1)
    assert claim(database, "one", now=9.9) == []
    assert claim(database, "one", now=10.0) == [key]


def test_what_one_holds_another_does_not_get(database: Database) -> None:
    key = add(database, 1)
    assert claim(database, "one") == [key]
    assert claim(database, "two") == []
    assert database.submit(sessions.claim_one, key, "two", 10.0, 70.0).result() is None


def test_a_lease_that_is_not_renewed_is_taken_over(database: Database) -> None:
    key = add(database, 1)
    claim(database, "one")
    assert claim(database, "two", now=71.0) == [key]
    assert database.submit(sessions.renew, "one", [key], 72.0, 132.0).result() == set()


def test_a_renewed_lease_is_not_taken_over(database: Database) -> None:
    key = add(database, 1)
    claim(database, "one")
    assert database.submit(sessions.renew, "one", [key], 60.0, 120.0).result() == {key}
    assert claim(database, "two", now=71.0) == []


def test_beyond_the_limit_they_wait_and_the_longest_waiting_comes_first(database: Database) -> None:
    keys = [add(database, number) for number in (3, 1, 2)]
    assert claim(database, "one", limit=2) == [keys[1], keys[2]]
    assert claim(database, "one", limit=2) == [keys[0]]


def test_an_interrupted_session_goes_on_though_nothing_new_came(database: Database) -> None:
    key = add(database, 1, ready_at=None, state="working", lease_owner="dead", lease_until=5.0)
    assert claim(database, "one") == [key]


def test_one_branch_is_worked_on_by_one_session_at_a_time(database: Database) -> None:
    first, second = add(database, 1, branch="fordjent/issue-1"), add(database, 2, branch="fordjent/issue-1")
    assert claim(database, "one") == [first]
    assert claim(database, "one") == []
    database.submit(sessions.note, first, ready_at=None).result()
    database.submit(sessions.release, first, "one").result()
    assert claim(database, "one") == [second]
    assert not database.submit(sessions.take_branch, first, "fordjent/issue-1", "main", 11.0).result()


def test_two_workers_that_race_never_get_the_same(database: Database, place: Path) -> None:
    keys = {add(database, number) for number in range(1, 31)}
    others = [Database.open(f"sqlite:///{place}/fordjent.db") for _ in range(2)]
    got: list[list[str]] = [[], []]

    def take(mine: int) -> None:
        while found := claim(others[mine], f"worker {mine}", limit=1):
            got[mine] += found

    with ThreadPoolExecutor(2) as threads:
        for taken in [threads.submit(take, mine) for mine in (0, 1)]:
            taken.result()
    for other in others:
        other.close()
    assert sorted(got[0] + got[1]) == sorted(keys)
