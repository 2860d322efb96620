"""Sessions that nothing would move any more, and labels that a session left behind."""

from __future__ import annotations

import time
from collections.abc import Collection

from sqlalchemy import Connection

from fordjent.context import Context
from fordjent.reconciling.comparing import Listed
from fordjent.sessions import labels_of_state, owner, showing
from fordjent.store import sessions, stuck
from fordjent.store.sessions import Session
from harness.config import seconds

PATIENCE_SECONDS = 900.0
"""Beyond `sessions.run_timeout`, after which a run that shows no sign is told to stop."""


async def mend(context: Context, repository: str, listed: Listed) -> None:
    """
    Raises:
        Unreachable: the forge is away.
    """
    await _let_go_on(context, repository, listed.open)
    await _take_stale_labels_off(context, repository, listed)


def stale_labels(session: Session, names: Collection[str]) -> set[str]:
    """Those of ours that tell of what is over: at work while it is not, or failed for another reason than it did."""
    wanted = labels_of_state.label(session)
    told = (name for name in names if name == labels_of_state.IN_PROGRESS or _is_failure(name))
    return {name for name in told if name != wanted}


def _is_failure(name: str) -> bool:
    return name.startswith(labels_of_state.FAILED)


async def _let_go_on(context: Context, repository: str, open_numbers: Collection[int]) -> None:
    silent_seconds = seconds(context.config.sessions.run_timeout) + PATIENCE_SECONDS

    def write(connection: Connection, now: float) -> tuple[list[str], list[str], list[str]]:
        dead = [one for one in sessions.owners(connection) if owner.is_dead(one)]
        for one in dead:
            sessions.release_all(connection, one)
        waking = stuck.let_run(connection, repository, open_numbers, now)
        silent = stuck.tell_to_stop(connection, repository, now, now - silent_seconds)
        return dead, waking, silent

    dead, waking, silent = await context.database.write(write, time.time())
    if dead or waking or silent:
        context.log.warning(
            "reconcile.stuck", repository=repository, dead_workers=len(dead), waking=waking, silent=silent
        )
        context.bus.woke("sessions")


async def _take_stale_labels_off(context: Context, repository: str, listed: Listed) -> None:
    """What was listed a moment ago may be at work by now: `show` looks anew at both."""
    names = {one.number: one.label_names for one in listed.all}
    idle = await context.database.read(stuck.idle, repository, time.time())
    for session in idle:
        if stale_labels(session, names.get(session.number, ())):
            context.log.info("reconcile.stale_labels", session=session.key)
            await showing.show(context, session.key)
