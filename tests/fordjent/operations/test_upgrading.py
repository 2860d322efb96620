"""A database of the first release, with what people had in it, is brought to this one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from fordjent.store import migrating
from fordjent.store.connecting import writing
from fordjent.store.database import Database
from fordjent.store.schema import metadata

FIRST_RELEASE = Path(__file__).with_name("first_release.sql")
"""A dump of it, with a row in each table but those of sums, which 0002 fills: never written anew."""


@pytest.fixture
def theirs(place: Path) -> Path:
    path = place / "theirs.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(FIRST_RELEASE.read_text("utf-8"))
    return path


def rows(path: Path) -> dict[str, int]:
    """How many each table has."""
    with closing(sqlite3.connect(path)) as raw:
        named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        tables = [name for (name,) in raw.execute(named)]
        return {name: raw.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}


def test_it_is_upgraded_with_everything_in_it(theirs: Path) -> None:
    before = rows(theirs)
    assert {name for name, count in before.items() if count != 1} == {"spending", "daily_spending"}
    url = f"sqlite:///{theirs}"
    Database.open(url).close()
    engine = writing(url)
    with engine.connect() as connection:
        assert migrating.version(connection) == migrating.newest() > "0001"
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        sums = connection.exec_driver_sql("SELECT calls, cost_microdollars FROM spending").all()
        kept = connection.exec_driver_sql("SELECT value FROM counters WHERE name LIKE '%401'").all()
    engine.dispose()
    assert (list(map(tuple, sums)), list(map(tuple, kept))) == ([(1, 7)], [(3,)])
    counted = {"counters": before["counters"] + 1}  # of the calls of tools
    assert rows(theirs) == before | counted | {"spending": 1, "daily_spending": 1}


def test_the_first_change_still_makes_what_the_first_release_had(place: Path, theirs: Path) -> None:
    path = place / "first.db"
    engine = writing(f"sqlite:///{path}")
    with engine.begin() as connection:
        command.upgrade(migrating._alembic(connection), "0001")
    engine.dispose()

    def made(path: Path) -> set[tuple[str, str]]:
        with closing(sqlite3.connect(path)) as raw:
            return set(raw.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))

    assert made(path) == made(theirs)
