"""Runs the sessions that are ready: serial per key, `max_sessions` at once; the others wait their turn.

    await Worker(context).run(stop)

A session is held by a lease in the database, renewed while it runs. What the process leaves when it
dies is free again: at once for another one on this machine, else when the lease is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from fordjent.context import Context
from fordjent.sessions import owner, starting
from fordjent.store import pausing, sessions
from fordjent.store.sessions import Session
from harness.config import seconds
from harness.errors import Busy, Failure, TryLater

LEASE_SECONDS = 60.0
RENEWALS = 4
"""Per lease: three may fail before it is lost."""
LOOK_SECONDS = 1.0
"""How long a cancellation may go unseen."""
LONGEST_WAIT_SECONDS = 5.0
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 1.0, 120.0


@dataclass
class Control:
    """What the worker tells a run that goes on. `cancelled`: why it is to stop; "": it is not."""

    cancelled: str = ""


Runner = Callable[[Session, Control], Awaitable[None]]
"""Runs one session to an outcome; TryLater: not now, the session goes on later from where it is."""


@dataclass
class _Running:
    task: asyncio.Task[None]
    control: Control


@dataclass
class Worker:
    """One per process. `runner` None: what runs a session for real (sessions.session)."""

    context: Context
    runner: Runner | None = None
    lease_seconds: float = LEASE_SECONDS
    owner: str = field(default_factory=lambda: str(owner.mine()))
    _running: dict[str, _Running] = field(default_factory=dict)
    _delays: dict[str, float] = field(default_factory=dict)

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`. Then what runs gets `shutdown_grace`; what has not ended goes on after the next start."""
        if self.runner is None:
            from fordjent.sessions.session import Runs

            async with contextlib.aclosing(Runs(self.context)) as shared:
                self.runner = shared.run
                return await self.run(stop)
        database = self.context.database
        for dead in filter(owner.is_dead, await database.read(sessions.owners)):
            await database.write(sessions.release_all, dead)
        stopping = asyncio.create_task(stop.wait())
        keeping = asyncio.create_task(self._keep_leases())
        try:
            while not stop.is_set():
                seen = self.context.bus.count("sessions")
                delay = await self._look()
                woken = asyncio.create_task(self.context.bus.wait("sessions", delay, seen))
                await asyncio.wait({woken, stopping}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
        finally:
            stopping.cancel()
            try:
                await self._grace()
            finally:  # also when this task is cancelled, because the process has waited long enough
                await self._cancel_all()
                keeping.cancel()

    async def run_one(self, key: str) -> None:
        """Run this session now, to the end of one run.

        Raises:
            Busy: somebody else has its lease.
        """
        assert self.runner
        now = time.time()
        session = await self.context.database.write(
            sessions.claim_one, key, self.owner, now, now + self.lease_seconds
        )
        if session is None:
            raise Busy(f"the session {key} is at work elsewhere", hint="wait until its run is over")
        keeping = asyncio.create_task(self._keep_leases())
        try:
            await self._start(session)
        finally:
            await self._cancel_all()
            keeping.cancel()

    @property
    def running(self) -> frozenset[str]:
        """The keys that are worked on."""
        return frozenset(self._running)

    # ---- starting

    async def _look(self) -> float:
        try:
            return await self._start_what_is_ready()
        except Failure as failure:  # a full disk, say: the next look may find room
            self.context.log.warning("worker.waits", why=self.context.redactor.redact(failure.message))
        except Exception:  # a bug: the next look may find it gone
            self.context.log.exception("worker.look_failed")
        return LOOK_SECONDS

    async def _start_what_is_ready(self) -> float:
        """Start what may run; returns how many seconds there is nothing more to start, unless woken."""
        pause = await self.context.database.read(pausing.current)
        if pause:
            if pause.interrupts:
                self._interrupt()
            return LOOK_SECONDS
        room = self.context.config.sessions.max_sessions - len(self._running)
        if room <= 0:
            return LONGEST_WAIT_SECONDS
        now = time.time()
        database = self.context.database
        claimed = await database.write(sessions.claim, self.owner, now, now + self.lease_seconds, room)
        for session in claimed:
            held_until = await starting.held_until(self.context, session)
            if held_until:
                await database.write(sessions.release, session.key, self.owner, held_until)
            else:
                self._start(session)
        if claimed:
            return 0.0
        next_at = await database.read(sessions.next_ready)
        if next_at is None:
            return LONGEST_WAIT_SECONDS
        return min(max(next_at - time.time(), LOOK_SECONDS / 2), LONGEST_WAIT_SECONDS)

    def _interrupt(self) -> None:
        """Break off what runs: it goes on from its stored messages after the pause."""
        for key, running in self._running.items():
            if not running.task.cancelling():
                self.context.log.info("session.paused", session=key)
                running.task.cancel()

    def _start(self, session: Session) -> asyncio.Task[None]:
        control = Control(cancelled=session.cancel)
        task = asyncio.create_task(self._work(session, control), name=session.key)
        self._running[session.key] = _Running(task, control)
        return task

    async def _work(self, session: Session, control: Control) -> None:
        """One run. What goes wrong in it ends here: no session takes another one down."""
        key, log = session.key, self.context.log
        structlog.contextvars.bind_contextvars(key=key, role=session.role)  # of this task alone
        later: float | None = None
        assert self.runner
        try:
            await self.runner(session, control)
            self._delays.pop(key, None)
        except TryLater as failure:
            delay = self._delays[key] = min(
                self._delays.get(key, FIRST_DELAY_SECONDS / 2) * 2, LONGEST_DELAY_SECONDS
            )
            later = time.time() + delay
            log.warning("session.postponed", why=self.context.redactor.redact(failure.message), seconds=delay)
        except asyncio.CancelledError:
            log.info("session.interrupted")
            raise
        except Failure as failure:
            why = self.context.redactor.redact(f"{failure.message} ({failure.hint})".replace(" ()", ""))
            log.error("session.given_up", why=why)
            await self._noted(starting.give_up(self.context, key, why))
        except Exception:
            log.exception("session.died")
            said = "an error of the server, which its log has"
            await self._noted(starting.give_up(self.context, key, said, lasting=False))
        finally:
            self._running.pop(key, None)
            release = self.context.database.write(sessions.release, key, self.owner, later)
            await self._noted(asyncio.shield(release))
            self.context.bus.woke("sessions")
            self.context.bus.woke("changes")

    async def _noted(self, written: Awaitable[None]) -> None:
        """What a full disk does not take is made up for when the lease runs out: the run is taken up then."""
        try:
            await written
        except Failure as failure:
            why = self.context.redactor.redact(failure.message)
            structlog.get_logger().warning("session.not_noted", why=why)

    # ---- while they run

    async def _keep_leases(self) -> None:
        """Hear cancellations, and renew leases; a run whose lease is lost stops at once, for somebody else has it."""
        renewed_at = time.monotonic()
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, self.lease_seconds / RENEWALS))
            try:
                await self._hear_cancellations()
                if time.monotonic() - renewed_at >= self.lease_seconds / RENEWALS:
                    renewed_at = time.monotonic()
                    await self._renew()
            except Exception:  # as above; a lease that is lost meanwhile is found lost at the next renewal
                self.context.log.exception("worker.renewal_failed")

    async def _hear_cancellations(self) -> None:
        told = await self.context.database.read(sessions.why_cancelled, list(self._running))
        for key, why in told.items():
            if key in self._running:
                self._running[key].control.cancelled = why

    async def _renew(self) -> None:
        now, keys = time.time(), list(self._running)
        kept = await self.context.database.write(
            sessions.renew, self.owner, keys, now, now + self.lease_seconds
        )
        for key in set(keys) - kept:
            if key in self._running:
                self._running[key].task.cancel()

    async def _grace(self) -> None:
        """Let what runs come to its end, for as long as `shutdown_grace` allows."""
        tasks = [running.task for running in self._running.values()]
        if tasks:
            self.context.log.info("worker.stopping", running=sorted(self._running))
            await asyncio.wait(tasks, timeout=seconds(self.context.config.sessions.shutdown_grace))

    async def _cancel_all(self) -> None:
        """Stop what still runs; all that it has done is in the database."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
