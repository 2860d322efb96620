"""A database of the first release, with what people had in it, is brought to this one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from fordjent.store import migrating
from fordjent.store.connecting import writing
from fordjent.store.database import Database
from fordjent.store.schema import metadata

ROWS = """
INSERT INTO counters (name, value) VALUES ('deliveries.rejected.401', 3);
INSERT INTO model_calls (key, run, repository, role, turn, provider, model, state, tokens_in, tokens_out, tokens_cached,
  cost_microdollars, retries, latency_seconds, error, at)
  VALUES ('acme/widget/issues/1', 'r', 'acme/widget', 'implementer', 1, 'main', 'm', 'answered', 10, 5, 0, 7, 0, 0.5, '', 86400);
"""


def first_release(place: Path) -> str:
    """Its tables and rows, as SQL."""
    path = place / "first.db"
    engine = writing(f"sqlite:///{path}")
    with engine.begin() as connection:
        command.upgrade(migrating._alembic(connection), "0001")
    engine.dispose()
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(ROWS)
        return "\n".join(raw.iterdump())


def test_it_is_upgraded_with_everything_in_it(place: Path) -> None:
    path = place / "theirs.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(first_release(place))
    url = f"sqlite:///{path}"
    Database.open(url).close()
    engine = writing(url)
    with engine.connect() as connection:
        assert migrating.version(connection) == migrating.newest() > "0001"
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        sums = connection.exec_driver_sql("SELECT calls, cost_microdollars FROM spending").all()
        kept = connection.exec_driver_sql("SELECT value FROM counters WHERE name LIKE '%401'").all()
    engine.dispose()
    assert (list(map(tuple, sums)), list(map(tuple, kept))) == ([(1, 7)], [(3,)])
