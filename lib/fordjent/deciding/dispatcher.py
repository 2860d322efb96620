"""Decides the events that wait: in order for each issue or pull request, side by side for different ones.

    await Dispatcher(context).run(stop)

What cannot be decided now (the forge does not answer) is postponed, and with it what came later about
the same; the others go on. What can never be decided is parked, with what is wrong: /status has it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fordjent.context import Context
from fordjent.deciding import applying, gathering
from fordjent.deciding.actions import Feed, Guide, Reschedule, RetryMerges
from fordjent.deciding.applying import Decision
from fordjent.deciding.decide import decide
from fordjent.deciding.event import read
from fordjent.deciding.questions import Questions
from fordjent.forge import labels
from fordjent.forge.errors import NotAllowed, Unreachable
from fordjent.posting import comment
from fordjent.roles import guidance
from fordjent.session_key import SessionKey
from fordjent.store import events
from fordjent.store.events import StoredEvent
from harness.config import seconds
from harness.effects import reached
from harness.errors import BadData, TryLater

AT_ONCE = 32
OWN_AT_ONCE = 4
"""Of our own events, which may take minutes."""
BATCH = 256
MOST_TAKEN = 1024
ATTEMPTS = 5
"""Of an event that fails for another reason than that somebody does not answer."""
FULL_SECONDS = 0.02
LONGEST_WAIT_SECONDS = 5.0
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 1.0, 300.0
GIVEN_UP_SECONDS = 7 * 86400.0
"""So old an event is no longer postponed."""

Handler = Callable[[Context, str], Awaitable[object]]
"""Does what an event of our own is for, in a repository. Repeatable."""


class Line(NamedTuple):
    """Events of one line are decided one after the other. `own`: the kind of an event of ours, else ""."""

    repository: str
    number: int
    own: str = ""

    @classmethod
    def of(cls, event: StoredEvent) -> Line:
        return cls(event.repository, event.number, "" if event.delivery else event.kind)


class Dispatcher:
    """One per process."""

    def __init__(self, context: Context, handlers: dict[str, Handler] | None = None) -> None:
        self._context = context
        self._handlers = OWN if handlers is None else handlers
        self._questions = Questions(context)
        self._deciding = asyncio.Semaphore(AT_ONCE)
        self._own = asyncio.Semaphore(OWN_AT_ONCE)
        self._lines: dict[Line, deque[StoredEvent]] = {}
        self._tasks: dict[Line, asyncio.Task[None]] = {}
        self._taken: set[int] = set()
        self._held: dict[Line, float] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; what is being decided then is decided, or left whole for the next start."""
        await self._recall()
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                seen = self._context.bus.count("events")
                delay = await self._look()
                woken = asyncio.create_task(self._context.bus.wait("events", delay, seen))
                await asyncio.wait({woken, stopping}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
        finally:
            stopping.cancel()
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(stopping, *self._tasks.values(), return_exceptions=True)

    async def _recall(self) -> None:
        """What was postponed before a restart holds back what comes after it, too."""
        for repository, number, kind, until in await self._context.database.read(events.held, time.time()):
            line = Line(repository, number, kind if kind in self._handlers else "")
            self._held[line] = max(until, self._held.get(line, 0.0))

    async def _look(self) -> float:
        """Take what waits; returns for how many seconds there is nothing more to take, unless woken."""
        if len(self._taken) > MOST_TAKEN - BATCH:
            await asyncio.sleep(FULL_SECONDS)
            return 0.0
        now = time.time()
        database = self._context.database
        try:
            found = await database.read(events.waiting, now, BATCH, tuple(self._taken))
            await self._hold_back(found, now)
            due = await database.read(events.next_after, now)
        except TryLater as failure:
            self._context.log.warning("dispatcher.waits", why=failure.message)
            return FIRST_DELAY_SECONDS
        for event in found:
            self._take(event, now)
        if len(found) == BATCH:
            return 0.0
        return min(LONGEST_WAIT_SECONDS, max(0.0, due - time.time())) if due else LONGEST_WAIT_SECONDS

    async def _hold_back(self, found: list[StoredEvent], now: float) -> None:
        """What comes after a postponed one of its line waits as long."""
        self._held = {line: until for line, until in self._held.items() if until > now}
        late: dict[float, list[int]] = {}
        for event in found:
            until = self._held.get(Line.of(event))
            if until:
                late.setdefault(until, []).append(event.id)
        for until, ids in late.items():
            await self._context.database.write(events.hold_back, ids, until)

    def _take(self, event: StoredEvent, now: float) -> None:
        line = Line.of(event)
        if self._held.get(line, 0.0) > now:
            return
        self._taken.add(event.id)
        self._lines.setdefault(line, deque()).append(event)
        if line not in self._tasks:
            self._tasks[line] = asyncio.create_task(self._work(line), name=f"decide {line}")

    # ---- one line

    async def _work(self, line: Line) -> None:
        waiting = self._lines[line]
        try:
            while waiting and line not in self._held:
                event = waiting[0]
                async with self._own if line.own else self._deciding:
                    await self._settle(line, event)
                waiting.popleft()
                self._taken.discard(event.id)
        finally:
            self._taken -= {event.id for event in waiting}
            del self._lines[line], self._tasks[line]

    async def _settle(self, line: Line, event: StoredEvent) -> None:
        """One event decided, postponed or parked: whatever goes wrong with it ends here."""
        try:
            await self._decide(event)
        except (TryLater, NotAllowed) as failure:
            if time.time() - event.created_at > GIVEN_UP_SECONDS:
                await self._give_up(line, event, failure.message)
            else:
                await self._postpone(line, event, failure.message, _asked_to_wait(failure))
        except BadData as failure:
            await self._give_up(line, event, failure.message)
        except Exception as error:
            self._context.log.exception("event.failed", event_id=event.id, delivery=event.delivery)
            said = f"{type(error).__name__}: {error}"
            if event.attempts + 1 >= ATTEMPTS:
                await self._give_up(line, event, said)
            else:
                await self._postpone(line, event, said)

    async def _decide(self, event: StoredEvent) -> None:
        if not event.delivery:
            await self._do_our_own(event)
            return
        about = read(event.event_type, event.body)
        facts = await gathering.gather(self._context, self._questions, about)
        actions = decide(about, facts)
        for action in actions:
            if isinstance(action, Guide):
                await self._guide(SessionKey.parse(action.key))
        decision = Decision(
            event_id=event.id,
            repository=about.repository,
            default_branch="" if about.default_branch == facts.default_branch else about.default_branch,
            actions=tuple(actions),
        )
        await self._context.database.write(
            applying.apply,
            decision,
            seconds(self._context.config.sessions.coalesce),
            self._context.redactor.redact,
            time.time(),
        )
        reached("fordjent.decided")
        if any(isinstance(action, Feed) for action in actions):
            self._context.bus.woke("sessions")
        if any(isinstance(action, (RetryMerges, Reschedule)) for action in actions):
            self._context.bus.woke("events")
        self._context.bus.woke("changes")

    async def _guide(self, key: SessionKey) -> None:
        """Before the event is decided, since it is repeatable: a crash in between does it again, to no effect."""
        forge = self._context.forge
        await comment(self._context, forge, key, f"{key}:{guidance.NEEDS_ROLE}", guidance.text())
        await labels.add(forge, key.repository, key.number, [guidance.NEEDS_ROLE])

    async def _do_our_own(self, event: StoredEvent) -> None:
        handler = self._handlers.get(event.kind)
        if handler is None:
            raise BadData(f"nobody knows what to do about an event {event.kind!r}")
        await handler(self._context, event.repository)
        await self._context.database.write(events.decided, event.id, "", time.time())

    # ---- what could not be decided

    async def _postpone(self, line: Line, event: StoredEvent, why: str, at_least: float = 0.0) -> None:
        delay = min(FIRST_DELAY_SECONDS * 2 ** min(event.attempts, 20), LONGEST_DELAY_SECONDS)
        until = time.time() + max(delay, min(at_least, LONGEST_DELAY_SECONDS))
        self._held[line] = until
        why = self._context.redactor.redact(why)
        self._context.log.warning("event.postponed", event_id=event.id, why=why, until=until)
        await self._write(events.postpone, event.id, until, why)
        self._context.bus.woke("events")

    async def _give_up(self, line: Line, event: StoredEvent, why: str) -> None:
        why = self._context.redactor.redact(why)
        self._context.log.error("event.parked", event_id=event.id, delivery=event.delivery, why=why)
        if not await self._write(events.park, event.id, why, time.time()):
            self._held[line] = time.time() + FIRST_DELAY_SECONDS

    async def _write(self, function: Callable[..., None], *args: object) -> bool:
        """False: the database does not take it now; the event is new still and will be found again."""
        try:
            await self._context.database.write(function, *args)
        except TryLater as failure:
            self._context.log.warning("event.left", why=failure.message)
            return False
        return True


def _asked_to_wait(failure: Exception) -> float:
    return failure.wait_seconds if isinstance(failure, Unreachable) else 0.0


async def _retry_merges(context: Context, repository: str) -> object:
    from fordjent.gates import merging

    return await merging.retry_waiting(context, repository)


async def _reconcile(context: Context, repository: str) -> object:
    from fordjent.reconciling import reconciling

    return await reconciling.reconcile(context, repository)


async def _schedule(context: Context, repository: str) -> None:
    from fordjent.scheduling import looking

    await looking.look(context, repository)


OWN: dict[str, Handler] = {
    applying.SCHEDULE: _schedule,
    applying.RETRY_MERGE: _retry_merges,
    applying.RECONCILE: _reconcile,
}
