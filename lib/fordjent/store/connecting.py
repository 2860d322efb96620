"""Connections to the database: durable, waiting for each other, and what their errors mean to a person."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from harness.errors import BadConfig, Busy, Failure, TryLater

BUSY_SECONDS = 30.0
"""How long a transaction waits for that of another process."""

_DURABLE = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "cache_size=-16000",
    "wal_autocheckpoint=4000",  # pages: in a flood the file itself is synced every 16 MB only
)


def writing(url: str) -> Engine:
    """An engine for the one writer: its transactions hold the database from their beginning.

    Raises:
        BadConfig: no address of a database that we know, or its folder cannot be made.
    """
    address = _address(url)
    _make_private(Path(address.database or ""))
    return _engine(address, 1, "BEGIN IMMEDIATE", _DURABLE)


def reading(url: str, readers: int) -> Engine:
    """An engine for up to `readers` at once, and few more, which see one moment and can write nothing."""
    return _engine(_address(url), readers, "BEGIN", ("query_only=ON", "cache_size=-16000"))


def file_of(url: str) -> Path:
    """
    Raises:
        BadConfig: no address of a database that we know.
    """
    return Path(_address(url).database or "")


def in_transaction(connection: Connection) -> bool:
    """Whether the database itself still thinks so."""
    raw: Any = connection.connection.dbapi_connection
    return bool(raw.in_transaction)


def failure_of(error: DBAPIError) -> Failure | None:
    """What an error of the database means to a person; None: it is a fault of ours."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    why = f"database: {error.orig}"
    match code & 0xFF if isinstance(code, int) else None:
        case sqlite3.SQLITE_FULL:
            return TryLater(why, hint="make room on the disk", code="disk_full")
        case sqlite3.SQLITE_IOERR:
            return TryLater(why, hint="see that the disk is sound and has room", code="disk_failed")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Busy(why, hint="another process holds it: wait for its end")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return BadConfig(why, hint="let this user write to state.dir, or name another folder")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return BadConfig(why, hint="put a backup of the file in its place, or move it away")
    return None


def _address(url: str) -> URL:
    try:
        address = make_url(url)
    except ArgumentError as error:
        raise BadConfig("state.database is no database's address", hint='leave it ""') from error
    if address.get_backend_name() != "sqlite":
        raise BadConfig(
            f"state.database: {address.get_backend_name()} is not supported yet", hint='leave it ""'
        )
    if address.database in (None, "", ":memory:"):
        raise BadConfig("state.database names no file", hint='leave it ""')
    return address


def _make_private(path: Path) -> None:
    """The file, for this user alone: it holds what people wrote. SQLite gives its companions the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _engine(address: URL, size: int, begin: str, pragmas: tuple[str, ...]) -> Engine:
    engine = create_engine(address, pool_size=size, connect_args={"timeout": BUSY_SECONDS})

    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # sqlite3 would begin transactions at its own times
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine
