"""The database: one writer with group commit, and readers beside it.

Everything is written by one thread, in transactions of what waits: each `write` is a savepoint
of its own, so that one that fails takes no other with it, and is over when it is on disk.

    async with Database.open(config.database_url) as database:
        accepted = await database.write(deliveries.accept, delivery, now)
        waiting = await database.read(events.waiting, now, 100)

The functions take a connection first: plain SQLAlchemy Core, in the modules beside this one. They do
nothing but read and write rows: where a group of them cannot be committed, each is run once more, alone.
A write that is cancelled before its turn is not done; after that it is done, though nobody waits for it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from fordjent.store.connecting import failure_of, in_transaction, reading, writing
from harness.errors import TryLater

P = ParamSpec("P")
T = TypeVar("T")

GROUP = 256
"""At most as many writes in one transaction."""
READERS = 4


@dataclass
class _Write:
    function: Callable[[Connection], Any]
    result: Future[Any] = field(default_factory=Future)


@dataclass
class _Outcome:
    value: Any = None
    error: BaseException | None = None


class _Broken(Exception):
    """The transaction is gone, whatever the savepoints say."""


class _Refused(Exception):
    """A transaction could not even begin."""


class Database:
    """Of one process. `open` brings the schema up to date."""

    def __init__(self, writer: Engine, reader: Engine) -> None:
        self._writing = writer
        self._reading = reader
        self._waiting: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._order = threading.Lock()
        self._ended: str = ""
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._writer = threading.Thread(target=self._write_all, name="writer", daemon=True)
        self._writer.start()

    @classmethod
    def open(cls, url: str) -> Database:
        """
        Raises:
            BadConfig: state.database is no address of a database that we know, no database stands there,
                or a newer version of this program has written it.
        """
        from fordjent.store import migrating

        writer = writing(url)
        try:
            migrating.upgrade(writer)
        except DBAPIError as error:
            raise failure_of(error) or error from error
        return cls(writer, reading(url, READERS))

    async def write(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(connection, …)` in the writer; back when it is committed.

        Raises:
            TryLater: the disk is full, or another process holds the database for too long.
        """
        return await asyncio.wrap_future(self.submit(function, *args, **kwargs))

    async def read(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(connection, …)` in a transaction that sees one moment and can write nothing."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, lambda: self.look(function, *args, **kwargs))

    def submit(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """`write` for callers that are not in the event loop: `.result()` waits."""
        write = _Write(lambda connection: function(connection, *args, **kwargs))
        with self._order:  # nothing is put behind the end, where nobody would come for it
            if self._ended:
                raise TryLater(self._ended, hint="start the program anew", code="database_closed")
            self._waiting.put(write)
        return write.result

    def look(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`read`, here and now."""
        try:
            with self._reading.connect() as connection:
                return function(connection, *args, **kwargs)
        except DBAPIError as error:
            raise failure_of(error) or error from error

    def close(self) -> None:
        """Write what waits, and end. Repeatable."""
        with self._order:
            if not self._ended:
                self._ended = "the database is closed"
                self._waiting.put(None)
        self._writer.join()
        self._readers.shutdown()
        self._writing.dispose()
        self._reading.dispose()

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await asyncio.to_thread(self.close)

    # ---- the writer

    def _write_all(self) -> None:
        try:
            while self._commit(self._next()):
                pass
        finally:  # also where it dies of a fault of ours: nobody is left waiting
            with self._order:
                self._ended = self._ended or "the database's writer has died"
            while not self._waiting.empty():
                left = self._waiting.get()
                if left and left.result.set_running_or_notify_cancel():
                    left.result.set_exception(TryLater(self._ended, code="database_closed"))

    def _next(self) -> list[_Write | None]:
        """What waits by now, at least one; None at its end: there will be no more."""
        found = [self._waiting.get()]
        while len(found) < GROUP and found[-1] is not None:
            try:
                found.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        return found

    def _commit(self, group: list[_Write | None]) -> bool:
        """Whether it goes on."""
        writes = [write for write in group if write and write.result.set_running_or_notify_cancel()]
        try:
            outcomes = self._together(writes)
        except BaseException as error:  # a fault of ours, of which the thread dies
            for write in writes:
                write.result.set_exception(error)
            raise
        for write, outcome in zip(writes, outcomes, strict=True):
            if outcome.error is None:
                write.result.set_result(outcome.value)
            else:
                write.result.set_exception(outcome.error)
        return group[-1] is not None

    def _together(self, writes: list[_Write]) -> list[_Outcome]:
        """All in one transaction, or, where that breaks, each in one of its own."""
        if not writes:
            return []
        try:
            return self._transaction(writes)
        except _Refused as refused:
            return [_failed(refused.__cause__) for _ in writes]
        except (DBAPIError, _Broken) as error:
            if len(writes) == 1:
                return [_failed(error.__cause__ if isinstance(error, _Broken) else error)]
        outcomes: list[_Outcome] = []
        for write in writes:
            outcomes += self._together([write])
        return outcomes

    def _transaction(self, writes: list[_Write]) -> list[_Outcome]:
        try:
            connection = self._writing.connect()
        except DBAPIError as error:
            raise _Refused from error
        with connection:
            try:
                connection.begin()
            except DBAPIError as error:
                raise _Refused from error
            outcomes = [_one(connection, write) for write in writes]
            connection.commit()
        return outcomes


def _one(connection: Connection, write: _Write) -> _Outcome:
    connection.exec_driver_sql("SAVEPOINT one")
    try:
        value = write.function(connection)
    except BaseException as error:  # the caller's, who gets it
        if not in_transaction(connection):  # SQLite gives the whole of it up on a full disk, and more
            raise _Broken from error
        connection.exec_driver_sql("ROLLBACK TO one")
        connection.exec_driver_sql("RELEASE one")
        return _failed(error)
    connection.exec_driver_sql("RELEASE one")
    return _Outcome(value)


def _failed(error: BaseException | None) -> _Outcome:
    assert error is not None
    failure = failure_of(error) if isinstance(error, DBAPIError) else None
    if failure is None:
        return _Outcome(error=error)
    failure.__cause__ = error
    return _Outcome(error=failure)
