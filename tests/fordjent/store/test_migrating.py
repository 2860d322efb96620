"""The schema on disk is the schema in the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from fordjent.store import migrating
from fordjent.store.connecting import writing
from fordjent.store.schema import metadata
from harness.errors import BadConfig

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def engine(place: Path) -> Engine:
    return writing(f"sqlite:///{place / 'a.db'}")


def test_a_migrated_database_is_what_the_code_says(engine: Engine) -> None:
    migrating.upgrade(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_unique_and_foreign_keys_are_there_too(engine: Engine) -> None:
    migrating.upgrade(engine)
    found = inspect(engine)
    for table in metadata.sorted_tables:
        assert len(found.get_foreign_keys(table.name)) == len(table.foreign_keys), table.name


def test_a_second_start_changes_nothing_and_loads_no_alembic(place: Path, engine: Engine) -> None:
    migrating.upgrade(engine)
    script = (
        "import sys\nfrom fordjent.store import migrating\nfrom fordjent.store.connecting import writing\n"
        "migrating.upgrade(writing(sys.argv[1]))\nassert 'alembic' not in sys.modules\n"
    )
    words = [sys.executable, "-c", script, f"sqlite:///{place / 'a.db'}"]
    lib = Path(migrating.__file__).parents[2]
    subprocess.run(words, check=True, env={"PYTHONPATH": str(lib)}, timeout=60)


def test_a_database_of_a_newer_version_is_refused_and_left_alone(engine: Engine) -> None:
    migrating.upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(BadConfig, match=r"has schema 9999.*knows up to \d{4}") as refused:
        migrating.upgrade(engine)
    assert "newer version" in refused.value.hint
    with engine.connect() as connection:
        assert migrating.version(connection) == "9999"


def test_the_first_change_is_that_of_the_code(place: Path) -> None:
    """What `invoke migration` would write is what is there."""
    written = place / "first.py"
    written.write_text(migrating.first(), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    config = ["--config", ROOT / "pyproject.toml"]
    subprocess.run([*ruff, "check", "--quiet", "--fix", *config, written], check=True, timeout=60)
    subprocess.run([*ruff, "format", "--quiet", *config, written], check=True, timeout=60)
    assert written.read_text("utf-8") == migrating.FIRST.read_text("utf-8")
