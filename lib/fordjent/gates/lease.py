"""A session's lease for what works on its branch without being a run of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from fordjent.sessions.owner import is_dead, mine
from fordjent.store import sessions
from fordjent.store.sessions import Session
from harness.config import seconds
from harness.errors import Busy

if TYPE_CHECKING:
    from fordjent.context import Context

LEASE_SECONDS = 900.0
"""Besides the time of the repository's own checks."""


@asynccontextmanager
async def held(context: Context, key: str) -> AsyncIterator[Session]:
    """Nobody else works on the session meanwhile.

    Raises:
        Busy: somebody does.
    """
    owner = str(mine())
    lease = LEASE_SECONDS + seconds(context.config.verify.timeout)
    session = await context.database.write(_take, key, owner, time.time(), lease)
    if session is None:
        raise Busy(f"the session {key} is at work", hint="wait until its run is over", code="session_busy")
    try:
        yield session
    finally:
        await context.database.write(sessions.release, key, owner)


def _take(connection: Connection, key: str, owner: str, now: float, lease: float) -> Session | None:
    """Also from one that was killed."""
    there = sessions.get(connection, key)
    if there and there.lease_owner and is_dead(there.lease_owner):
        sessions.release(connection, key, there.lease_owner)
    return sessions.claim_one(connection, key, owner, now, now + lease)
