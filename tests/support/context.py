"""A context of Fordjent's for tests of single parts: a real database, and a forge that does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import structlog

from fordjent import config as configuration
from fordjent.context import Context, redactor_of
from fordjent.forge.forge import Forge
from fordjent.store.database import Database
from tests.support.server import write_config


@contextmanager
def opened(folder: Path, *, server: str = "", forge: Forge | None = None) -> Iterator[Context]:
    config = configuration.load(str(write_config(folder, server=server)))
    database = Database.open(config.database_url)
    try:
        yield Context(config, database, cast(Forge, forge), redactor_of(config), structlog.get_logger())
    finally:
        database.close()
