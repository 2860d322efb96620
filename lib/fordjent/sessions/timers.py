"""What comes round by itself: what could not be shown is, idle worktrees go, waiting pull requests are tried,
what webhooks missed is looked for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from fordjent import threads
from fordjent.context import Context
from fordjent.deciding.applying import RECONCILE, RETRY_MERGE, SCHEDULE
from fordjent.forge.errors import ForgeError
from fordjent.gates import checks
from fordjent.operations import pruning
from fordjent.sessions import showing
from fordjent.sessions.surroundings import Surroundings
from fordjent.store import events, handled, parts, sessions, waiting_issues, waiting_merges
from fordjent.store.sessions import Session
from fordjent.workspaces.workspaces import folder_of
from harness.config import seconds
from harness.errors import Failure

SHOW_SECONDS = 5.0
LONGEST_SHOW_SECONDS = 600.0
"""Between two tries to show the same session, when each fails."""
FIRST_SECONDS = 1.0
"""The worker first gives back what a dead process held."""
SHOWN_WITHIN_SECONDS = 86400.0
"""What could not be shown for that long is left as it is."""
REAP_SECONDS = 60.0
RETRY_SECONDS = 300.0
PRUNE_SECONDS = 3600.0
CHECKS_SECONDS = 2.0
"""How soon one that is due is asked for."""


class Timers:
    """One per process, beside the worker."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._around = Surroundings(context)
        self._show_at: dict[str, tuple[float, float]] = {}

    async def run(self, stop: asyncio.Event) -> None:
        idle = seconds(self._context.config.sessions.idle_timeout)
        every = {
            self.show: SHOW_SECONDS,
            self.reap: min(REAP_SECONDS, idle / 4),
            self.retry_merges: RETRY_SECONDS,
            self.checks: CHECKS_SECONDS,
            self.schedule: RETRY_SECONDS,
            self.reconcile: seconds(self._context.config.sessions.reconcile_interval),
            self.prune: PRUNE_SECONDS,
        }
        due = dict.fromkeys(every, time.monotonic() + FIRST_SECONDS)
        while not stop.is_set():
            for work, interval in every.items():
                if time.monotonic() >= due[work] and not stop.is_set():
                    due[work] = time.monotonic() + interval
                    await self._do(work.__name__, work)
            try:
                async with asyncio.timeout(max(min(due.values()) - time.monotonic(), 0.01)):
                    await stop.wait()
            except TimeoutError:
                continue

    async def show(self) -> None:
        """Bring labels and status comments to what the database says, where an end of a run could not."""
        now = time.time()
        found = await self._context.database.read(sessions.not_shown, now - SHOWN_WITHIN_SECONDS, now)
        waits = {one.key: self._show_at.get(one.key, (0.0, SHOW_SECONDS)) for one in found}
        for key, (due, delay) in waits.items():
            if due <= time.monotonic() and not await showing.show(self._context, key):
                waits[key] = time.monotonic() + delay, min(delay * 2, LONGEST_SHOW_SECONDS)
        self._show_at = waits

    async def reap(self) -> None:
        """Give back the worktrees of sessions that are idle and have all their work on the forge."""
        now = time.time()
        before = now - seconds(self._context.config.sessions.idle_timeout)
        idle = {
            _folder(one): one for one in await self._context.database.read(sessions.idle_since, before, now)
        }
        root = self._context.config.state_dir / "repositories"
        if not idle or not root.is_dir():
            return
        workspaces = await self._around.workspaces()
        for path in await threads.run(workspaces.worktrees):
            session = idle.get(str(path.relative_to(root)))
            if session is None:
                continue
            kept = await threads.run_in(
                workspaces.root(session.repository), workspaces.remove, session.session_key, session.branch
            )
            self._context.log.info("session.reaped", session=session.key, kept=kept)

    async def retry_merges(self) -> None:
        """Have the pull requests tried again that wait for others, also where no event told that those are gone."""

        await self._make(RETRY_MERGE, waiting_merges.repositories)

    async def schedule(self) -> None:
        """Have the issues looked at that wait for others, and those whose parts are done."""

        def due(connection: Connection) -> list[str]:
            return sorted({*waiting_issues.repositories(connection), *parts.repositories(connection)})

        await self._make(SCHEDULE, due)

    async def checks(self) -> None:
        """Ask for the checks of pull requests that are waited for, each when it is due."""
        await checks.look(self._context)

    async def reconcile(self) -> None:
        """Have every repository compared with what was handled of it."""
        await self._make(RECONCILE, handled.repositories_due)

    async def prune(self) -> None:
        """Give back the room of what is no longer needed."""
        await pruning.prune(self._context)

    async def _make(self, kind: str, repositories: Callable[[Connection], list[str]]) -> None:
        """An event of ours for each of them, unless one waits: that it is postponed makes no second one."""

        def write(connection: Connection, now: float) -> bool:
            due = [one for one in repositories(connection) if not events.is_waiting(connection, kind, one)]
            for repository in due:
                events.add(connection, kind, repository, 0, now)
            return bool(due)

        if await self._context.database.write(write, time.time()):
            self._context.bus.woke("events")

    async def _do(self, name: str, work: object) -> None:
        assert callable(work)
        try:
            await work()
        except (Failure, ForgeError) as failure:
            self._context.log.info("timer.later", timer=name, why=failure.message)
        except Exception:  # the outermost edge of the timers: the next time may go well
            self._context.log.exception("timer.failed", timer=name)


def _folder(session: Session) -> str:
    """Where its worktree is, below the repositories."""
    return str(Path(session.repository.lower()) / "worktrees" / folder_of(session.session_key))
