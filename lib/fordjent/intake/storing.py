"""Deliveries on their way to the disk: what comes while one write is under way goes there together in the next."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from fordjent.intake.delivery import Delivery
from fordjent.store import deliveries
from fordjent.store.database import Database
from fordjent.store.deliveries import Accepted

TOGETHER = 256


@dataclass(eq=False)
class _Arrived:
    delivery: Delivery
    stored: asyncio.Future[Accepted] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Storing:
    """A row for each would be a statement, a savepoint and a change of threads for each: three times the work."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Arrived] = []
        self._writing: asyncio.Task[None] | None = None

    async def store(self, delivery: Delivery) -> Accepted:
        """Back when it is on disk.

        Raises:
            TryLater: the disk is full, or another process holds the database for too long.
        """
        arrived = _Arrived(delivery)
        self._waiting.append(arrived)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return await arrived.stored

    async def _write_all(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
            fresh = [arrived.delivery for arrived in group]
            try:
                stored = await self._database.write(deliveries.accept_all, fresh, time.time())
            except BaseException as error:  # theirs, each of whom gets it
                for arrived in group:
                    if not arrived.stored.done():
                        arrived.stored.set_exception(error)
            else:
                for arrived, accepted in zip(group, stored, strict=True):
                    if not arrived.stored.done():
                        arrived.stored.set_result(accepted)
