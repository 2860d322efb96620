"""The database: one writer with group commit, and readers beside it.

Everything is written by one thread, in transactions of what waits: each `write` is a savepoint
of its own, so that one that fails takes no other with it, and is over when it is on disk.

    async with Database.open(config.database_url) as database:
        event_id = await database.write(deliveries.accept, delivery, now)
        waiting = await database.read(sessions.waiting, now)

The functions take a connection first: plain SQLAlchemy Core, in the modules beside this one.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url

from harness.errors import BadConfig, TryLater

P = ParamSpec("P")
T = TypeVar("T")

GROUP = 256
"""At most as many writes in one transaction."""
BUSY_SECONDS = 30.0
READERS = 4
WRITES = "fordjent_writes"


@dataclass
class _Write:
    function: Callable[[Connection], Any]
    result: Future[Any] = field(default_factory=Future)


class Database:
    """Of one process. `open` brings the schema up to date."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._writer = threading.Thread(target=self._write_all, name="writer", daemon=True)
        self._writer.start()

    @classmethod
    def open(cls, url: str) -> Database:
        """
        Raises:
            BadConfig: state.database is no address of a database that we know.
            TryLater: it is not there, or a newer version of this program has written it.
        """
        from fordjent.store import migrating

        engine = connect(url)
        migrating.upgrade(engine)
        return cls(engine)

    async def write(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(connection, …)` in the writer; back when it is committed."""
        return await asyncio.wrap_future(self.submit(function, *args, **kwargs))

    async def read(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(connection, …)` in a transaction that sees one moment."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, lambda: self.look(function, *args, **kwargs))

    def submit(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """`write` for callers that are not in the event loop: `.result()` waits."""
        write = _Write(lambda connection: function(connection, *args, **kwargs))
        self._waiting.put(write)
        return write.result

    def look(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`read`, here and now."""
        with self._engine.connect() as connection:
            return function(connection, *args, **kwargs)

    def close(self) -> None:
        """Write what waits, and end. Repeatable."""
        self._waiting.put(None)
        self._writer.join()
        self._readers.shutdown()
        self._engine.dispose()

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await asyncio.to_thread(self.close)

    # ---- the writer

    def _write_all(self) -> None:
        while True:
            first = self._waiting.get()
            if first is None:
                return
            group = [first, *self._more()]
            ends = None in group
            self._commit([write for write in group if write is not None])
            if ends:
                return

    def _more(self) -> list[_Write | None]:
        """What else waits by now."""
        found: list[_Write | None] = []
        while len(found) < GROUP - 1 and None not in found:
            try:
                found.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        return found

    def _commit(self, group: list[_Write]) -> None:
        outcomes: list[tuple[_Write, Any, BaseException | None]] = []
        try:
            with self._engine.execution_options(**{WRITES: True}).begin() as connection:
                for write in group:
                    try:
                        with connection.begin_nested():
                            outcomes.append((write, write.function(connection), None))
                    except BaseException as error:  # the caller's, who gets it
                        outcomes.append((write, None, error))
        except BaseException as error:  # the commit itself: nothing of the group is on disk
            outcomes = [(write, None, error) for write in group]
        for write, result, failed in outcomes:
            if write.result.set_running_or_notify_cancel():
                if failed is None:
                    write.result.set_result(result)
                else:
                    write.result.set_exception(failed)


def connect(url: str) -> Engine:
    """An engine whose SQLite connections are durable, wait for each other, and check references.

    Raises:
        BadConfig: no address of a database that we know.
    """
    try:
        parsed = make_url(url)
    except Exception as error:
        raise BadConfig("state.database is no database's address", hint="like postgresql://…") from error
    if parsed.get_backend_name() != "sqlite":
        raise BadConfig(
            f"state.database: {parsed.get_backend_name()} is not supported yet", hint='leave it ""'
        )
    if parsed.database:
        Path(parsed.database).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    engine = create_engine(parsed, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # sqlite3 would begin transactions at its own times
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-16000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    # A transaction that reads first and writes then fails at once where another process wrote in between
    # (SQLITE_BUSY_SNAPSHOT, for which no time-out waits): so a writer says at the start what it is.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


__all__ = ["Database", "TryLater", "connect"]
