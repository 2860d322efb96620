"""The database: one writer, group commit, and what happens when something is wrong."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, select
from sqlalchemy.exc import IntegrityError

from fordjent.store import counters
from fordjent.store.database import Database
from fordjent.store.schema import counters as table
from harness.errors import BadConfig, BadData, Busy, TryLater

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    opened = Database.open(url(place))
    yield opened
    opened.close()


def url(place: Path) -> str:
    return f"sqlite:///{place / 'state/fordjent.db'}"


def value(database: Database, name: str = "a") -> int:
    return database.look(counters.value, name)


def refuse(connection: Connection) -> None:
    """Writes, and then says no."""
    counters.add(connection, "a", 100)
    raise BadData("no")


def hold(database: Database) -> threading.Event:
    """Keep the writer busy until the event is set, so that what is written meanwhile is one group."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(_connection: Connection) -> None:
        begun.set()
        go_on.wait(10)

    database.submit(wait)
    assert begun.wait(10)
    return go_on


def commits(database: Database) -> list[object]:
    """One entry for each commit from now on."""
    seen: list[object] = []
    event.listen(database._writing, "commit", seen.append)
    return seen


def test_what_is_written_is_on_disk_for_everybody(place: Path, database: Database) -> None:
    asyncio.run(database.write(counters.add, "a", 3))
    assert value(database) == 3
    with sqlite3.connect(place / "state/fordjent.db") as other:
        assert other.execute("SELECT value FROM counters WHERE name = 'a'").fetchone() == (3,)


def test_writes_that_wait_are_committed_together(database: Database) -> None:
    go_on, seen = hold(database), commits(database)
    written = [database.submit(counters.add, "a", 1) for _ in range(100)]
    go_on.set()
    for one in written:
        one.result(10)
    assert value(database) == 100
    assert len(seen) == 2  # what held the writer, and all the rest


def test_a_write_that_fails_takes_no_other_with_it_and_leaves_nothing(database: Database) -> None:
    go_on = hold(database)
    before = database.submit(counters.add, "a", 1)
    failing = database.submit(refuse)
    after = database.submit(counters.add, "a", 2)
    go_on.set()
    with pytest.raises(BadData, match="no"):
        failing.result(10)
    before.result(10), after.result(10)
    assert value(database) == 3


def test_what_breaks_a_whole_transaction_is_told_apart_from_the_rest(database: Database) -> None:
    def broken(connection: Connection) -> None:
        counters.add(connection, "a", 100)
        connection.exec_driver_sql("ROLLBACK")
        raise BadData("gone")

    go_on = hold(database)
    written = [database.submit(counters.add, "a", 1) for _ in range(3)]
    breaking = database.submit(broken)
    written += [database.submit(counters.add, "a", 1) for _ in range(3)]
    go_on.set()
    with pytest.raises(BadData, match="gone"):
        breaking.result(10)
    for one in written:
        one.result(10)
    assert value(database) == 6


def test_a_fault_of_the_caller_comes_back_as_it_is(database: Database) -> None:
    def twice(connection: Connection) -> None:
        for _ in range(2):
            connection.execute(table.insert().values(name="a", value=1))

    with pytest.raises(IntegrityError):
        asyncio.run(database.write(twice))
    assert value(database) == 0


def test_a_write_cancelled_before_its_turn_is_not_done_and_later_ones_are(database: Database) -> None:
    async def scenario() -> None:
        go_on = hold(database)
        cancelled = asyncio.create_task(database.write(counters.add, "a", 100))
        await asyncio.sleep(0)
        cancelled.cancel()
        later = asyncio.create_task(database.write(counters.add, "a", 1))
        await asyncio.sleep(0)
        go_on.set()
        await later

    asyncio.run(scenario())
    assert value(database) == 1


def test_a_write_cancelled_in_its_turn_is_done_and_harms_nobody(database: Database) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        begun.set()
        go_on.wait(10)
        counters.add(connection, "a", 1)

    async def scenario() -> None:
        cancelled = asyncio.create_task(database.write(slow))
        await asyncio.to_thread(begun.wait, 10)
        cancelled.cancel()
        go_on.set()
        await database.write(counters.add, "a", 1)

    asyncio.run(scenario())
    assert value(database) == 2


def test_a_full_disk_is_said_and_the_next_write_that_fits_is_done(place: Path, database: Database) -> None:
    """The page limit is SQLite's own way to be full."""

    def limit(connection: Connection, pages: int) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    def store_much(connection: Connection) -> None:
        for number in range(50):
            connection.execute(table.insert().values(name=f"{number}" + "x" * 4000, value=1))

    asyncio.run(database.write(counters.add, "a", 1))
    database.submit(limit, 1).result(10)  # no more than there are
    go_on = hold(database)
    before = database.submit(counters.add, "a", 1)
    full = database.submit(store_much)
    go_on.set()
    with pytest.raises(TryLater, match="disk is full") as refused:
        full.result(10)
    assert refused.value.code == "disk_full" and refused.value.hint == "make room on the disk"
    assert refused.value.__cause__ is not None  # where it was, for the log
    before.result(10)
    assert value(database) == 2
    database.submit(limit, 100_000).result(10)
    asyncio.run(database.write(store_much))


def test_a_reader_sees_one_moment_and_can_write_nothing(database: Database) -> None:
    def look_twice(connection: Connection) -> tuple[int, int]:
        first = counters.value(connection, "a")
        database.submit(counters.add, "a", 1).result(10)
        return first, counters.value(connection, "a")

    assert asyncio.run(database.read(look_twice)) == (0, 0)
    assert value(database) == 1
    with pytest.raises(BadConfig, match="readonly"):
        asyncio.run(database.read(counters.add, "a", 1))
    assert value(database) == 1


def test_many_readers_wait_for_their_turn(database: Database) -> None:
    async def scenario() -> list[int]:
        return await asyncio.gather(*(database.read(counters.value, "a") for _ in range(50)))

    assert asyncio.run(scenario()) == [0] * 50


def test_after_its_end_a_write_is_refused_instead_of_waiting_for_ever(place: Path) -> None:
    database = Database.open(url(place))
    waiting = [database.submit(counters.add, "a", 1) for _ in range(20)]
    database.close()
    database.close()
    assert [one.result(1) for one in waiting] == [None] * 20  # what was put in before is written
    with pytest.raises(TryLater, match="closed"):
        database.submit(counters.add, "a", 1)


def test_where_the_writer_dies_nobody_is_left_waiting(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of ours in the writer itself: it must be seen, not waited for."""
    monkeypatch.setattr(threading, "excepthook", lambda _said: None)
    go_on = hold(database)
    waiting = database.submit(counters.add, "a", 1)

    def die(*_arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(database, "_together", die)
    other = database.submit(counters.add, "a", 1)
    go_on.set()
    for one in (waiting, other):
        with pytest.raises((TryLater, MemoryError)):
            one.result(10)
    database._writer.join(10)
    with pytest.raises(TryLater, match="died"):
        database.submit(counters.add, "a", 1)


def test_another_process_that_holds_it_is_waited_for(place: Path, database: Database) -> None:
    with sqlite3.connect(place / "state/fordjent.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = database.submit(counters.add, "a", 1)
        with pytest.raises(TimeoutError):
            waiting.result(0.1)
        other.execute("COMMIT")
        waiting.result(10)
    assert value(database) == 1


def test_a_lock_that_is_not_given_up_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fordjent.store.connecting.BUSY_SECONDS", 0.1)
    database = Database.open(url(place))
    with sqlite3.connect(place / "state/fordjent.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match="locked"):
            database.submit(counters.add, "a", 1).result(10)
        other.execute("ROLLBACK")
    database.submit(counters.add, "a", 1).result(10)
    database.close()


def test_the_file_and_its_folder_are_for_this_user_alone(place: Path, database: Database) -> None:
    asyncio.run(database.write(counters.add, "a", 1))
    assert stat.S_IMODE((place / "state").stat().st_mode) == 0o700
    for name in ("fordjent.db", "fordjent.db-wal"):
        assert stat.S_IMODE((place / "state" / name).stat().st_mode) == 0o600


def test_what_was_acknowledged_survives_kill_9(place: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from fordjent.store import counters\n"
        "from fordjent.store.database import Database\n"
        "database = Database.open(sys.argv[1])\n"
        "async def work():\n"
        "    while True:\n"
        "        await database.write(counters.add, 'a', 1)\n"
        "        print(flush=True)\n"
        "asyncio.run(work())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, url(place)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "lib")},
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    for _ in range(20):
        assert process.stdout.readline()
    process.kill()
    acknowledged = 20 + len(process.stdout.read())
    process.wait(10)
    process.stdout.close()
    reopened = Database.open(url(place))
    assert value(reopened) in (acknowledged, acknowledged + 1)  # written, and killed before it was said
    reopened.close()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql://somebody:p4ssw0rd-of-mine@host/name", "postgresql is not supported yet"),
        ("no address at all", "no database's address"),
        ("sqlite://", "names no file"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(address: str, message: str) -> None:
    with pytest.raises(BadConfig, match=message) as refused:
        Database.open(address)
    assert "p4ssw0rd" not in str(refused.value)


def test_a_file_that_is_no_database_is_refused(place: Path) -> None:
    (place / "state").mkdir()
    (place / "state/fordjent.db").write_bytes(b"some text of a person " * 100)
    with pytest.raises(BadConfig, match="not a database"):
        Database.open(url(place))


def test_the_select_of_a_row_that_is_not_there_is_nothing(database: Database) -> None:
    assert database.look(lambda connection: connection.execute(select(table)).all()) == []
