"""What the server does for the memory by itself: memory.jsonl is brought up to date, summaries are made at night."""

from __future__ import annotations

import asyncio
import time
from datetime import date, datetime

from sqlalchemy import Connection

from fordjent import threads
from fordjent.context import Context
from fordjent.memory import nightly
from fordjent.memory.journal import Journal
from fordjent.session_key import SessionKey
from fordjent.store import counters, memories
from harness import atomic
from harness.errors import Failure

WRITE_SECONDS = 5.0
LOOK_SECONDS = 20.0
RETRY_SECONDS = 900.0
"""After a night on which a forge did not answer."""
SLACK_SECONDS = 10.0
"""A change may be committed so long after its time."""
LONG_SLACK_SECONDS = 3600.0
"""The same over a restart, during which the clock may have been put right."""
DAY = "memory.compacted_day"
"""The counter with the day, from year 1, for which summaries were made last."""


class Keeper:
    """One per process, beside the worker."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._stamp = context.config.state_dir / "memory" / "written"
        self._since: float | None = None
        self._again: set[str] = set()
        self._known: dict[str, int] = {}
        self._tried_at = -RETRY_SECONDS

    async def run(self, stop: asyncio.Event) -> None:
        nights = asyncio.create_task(self._nights(stop))
        try:
            while not stop.is_set():
                await self._guarded("memory", self.write)
                await _pause(stop, WRITE_SECONDS)
        finally:
            nights.cancel()  # the next start goes on where it was
            await asyncio.gather(nights, return_exceptions=True)
        await self._guarded("memory", self.write)

    async def write(self) -> int:
        """Write down what sessions said and did since the last time; how many lines that were."""
        began = time.time()
        since = min(self._begin(), began)
        at_work = await self._context.database.read(memories.at_work)
        keys = {key for key, newest in at_work.items() if newest != self._known.get(key)} | self._again
        keys |= set(await self._context.database.read(memories.changed_since, since))
        written, self._again, self._known = 0, set(), at_work
        for key in sorted(keys):
            journal = Journal.of(self._context.config.state_dir, SessionKey.parse(key))
            try:
                written += await threads.run(journal.bring_up, self._context.database, self._context.redactor)
            except (Failure, OSError) as error:  # the disk is full: all of it is in the database still
                self._context.log.warning("memory.not_written", session=key, why=str(error))
                self._again.add(key)
        self._since = began - SLACK_SECONDS
        if written and not self._again:
            await threads.run(atomic.write_json, self._stamp, began)
        return written

    async def compact(self, now: datetime) -> bool:
        """Make the summaries of this day, if they are due; whether they were."""
        database, at = self._context.database, self._context.config.memory.compaction_time
        newest = nightly.newest_day(now, at)
        if newest is None:
            return False
        known = await database.read(counters.value, DAY)
        if not known:  # a first start begins no old work
            await database.write(_note_day, newest)
            return False
        day = nightly.due(now, at, date.fromordinal(known))
        if day is None or time.monotonic() - self._tried_at < RETRY_SECONDS:
            return False
        from fordjent.memory.compaction import Compactor

        self._tried_at = time.monotonic()
        done = await Compactor(self._context).all()
        if not any(one.retry for one in done):
            await database.write(_note_day, day)
            self._tried_at = -RETRY_SECONDS
        return True

    # ---- parts

    async def _nights(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._guarded("compaction", lambda: self.compact(datetime.now()))
            await _pause(stop, LOOK_SECONDS)

    def _begin(self) -> float:
        if self._since is not None:
            return self._since
        return atomic.read_json(self._stamp, float, 0.0) - LONG_SLACK_SECONDS

    async def _guarded(self, name: str, work: object) -> None:
        assert callable(work)
        try:
            await work()
        except (Failure, OSError) as failure:
            self._context.log.info("timer.later", timer=name, why=str(failure))
        except Exception:  # the outermost edge of the timers: the next time may go well
            self._context.log.exception("timer.failed", timer=name)


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return


def _note_day(connection: Connection, day: date) -> None:
    counters.add(connection, DAY, day.toordinal() - counters.value(connection, DAY))
