from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fordjent.store.database import Database


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    opened = Database.open(f"sqlite:///{place}/fordjent.db")
    yield opened
    opened.close()
