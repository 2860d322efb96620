"""Brings a database to this version's schema, by the numbered changes in `migrations/versions`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from harness.errors import BadConfig

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
FIRST = MIGRATIONS / "versions/0001_first.py"
_NUMBERED = re.compile(r"(\d{4})_\w+\.py")


def upgrade(engine: Engine) -> None:
    """Make or change the tables; nothing is done where they are as they must be. Whole or not at all.

    Raises:
        BadConfig: a newer version of this program has written the database.
    """
    with engine.connect() as connection:
        if version(connection) == newest():
            return
    with engine.begin() as connection:  # holds the database: whoever starts beside us waits here
        found = version(connection)
        if found > newest():
            raise BadConfig(
                f"the database has schema {found}, made by a newer version; this one knows up to {newest()}",
                hint="start the newer version, or name another state.dir",
            )
        if found < newest():
            from alembic import command

            command.upgrade(_alembic(connection), "head")


def version(connection: Connection) -> str:
    """The number of the last change that was made to the database; empty: it is new."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def newest() -> str:
    """The number of the last change that this program knows."""
    return max(match[1] for path in _versions().iterdir() if (match := _NUMBERED.fullmatch(path.name)))


def first() -> str:
    """Change 0001, as `schema.metadata` would have it: right until it is on somebody's disk."""
    from alembic import autogenerate
    from alembic.migration import MigrationContext
    from sqlalchemy import create_engine

    from fordjent.store.schema import metadata

    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        changes = autogenerate.produce_migrations(context, metadata).upgrade_ops
    assert changes
    return _FIRST.replace("BODY", autogenerate.render_python_code(changes))


_FIRST = '''"""The first tables. Written by `invoke migration` from fordjent.store.schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    BODY
'''


def _versions() -> Path:
    return MIGRATIONS / "versions"


def _alembic(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
