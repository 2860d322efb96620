"""How many deliveries were turned away: counted in the database, in as few writes as a flood allows."""

from __future__ import annotations

import asyncio
from collections import Counter

from sqlalchemy import Connection

from fordjent.store import counters
from fordjent.store.database import Database
from harness.errors import Failure


class Rejections:
    """One write at most is under way; what is counted meanwhile goes into the next."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: Counter[int] = Counter()
        self._writing: asyncio.Task[None] | None = None

    def count(self, status: int) -> None:
        """One was answered `status`."""
        self._waiting[status] += 1
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def written(self) -> None:
        """When all that was counted is in the database, or could not be written."""
        if self._writing:
            await asyncio.wait([self._writing])

    async def _write(self) -> None:
        while self._waiting:
            counted, self._waiting = self._waiting, Counter()
            try:
                await self._database.write(_add, counted)
            except Failure:  # no room on the disk: the next one tries again
                self._waiting += counted
                return


def _add(connection: Connection, counted: Counter[int]) -> None:
    for status, amount in counted.items():
        counters.add(connection, f"{counters.REJECTED}.{status}", amount)
