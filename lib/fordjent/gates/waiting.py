"""Pull requests that waited for others: tried again when one of those is merged or closed.

The base has moved since, so that all gates are passed again, from the session's own worktree,
under its lease. What then needs the agent goes to its session as an input.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from fordjent import threads
from fordjent.forge import issues
from fordjent.gates import lease
from fordjent.gates.gate import Begun, Blocked, Opened, Proposal, Waiting
from fordjent.session_key import SessionKey
from fordjent.store import inputs, sessions, transitions, waiting_checks, waiting_merges
from fordjent.store.sessions import Session
from fordjent.store.waiting_checks import WaitingCheck
from fordjent.store.waiting_merges import WaitingMerge
from harness.errors import Failure, TryLater

if TYPE_CHECKING:
    from fordjent.context import Context


async def retry_waiting(context: Context, repository: str) -> list[Opened | Blocked | Waiting]:
    """Try again what waits in a repository, longest waiting first; what became of each.

    Raises:
        TryLater: a session is at work just now, or the forge does not answer.
    """
    found: list[Opened | Blocked | Waiting] = []
    failed: list[str] = []
    for row in await context.database.read(waiting_merges.of_repository, repository):
        try:
            async with lease.held(context, row.key) as session:
                verdict = await _retry(context, row, session)
        except Failure as failure:  # one that cannot be tried now keeps no other from it
            failed.append(f"{row.key}: {failure.message}")
            continue
        if verdict:
            found.append(verdict)
    if failed:
        raise TryLater("; ".join(failed), code="not_retried")
    return found


async def _retry(context: Context, row: WaitingMerge, session: Session) -> Opened | Blocked | Waiting | None:
    """None: nobody wants it any more."""
    from fordjent.sessions import showing

    key = SessionKey.parse(row.key)
    about = await issues.get(context.forge, key.repository, key.number)
    if session.cancel or about.state != "open":
        await context.database.write(waiting_merges.drop, row.key)
        return None
    verdict, waits = await _proposed(context, row, key)
    await context.database.write(_note, row, verdict, waits, session, time.time())
    context.bus.woke("sessions")
    if not isinstance(verdict, Waiting):  # only now: a kill before this has it tried once more
        await showing.show(context, row.key)
        await context.database.write(waiting_merges.drop, row.key)
    return verdict


async def _proposed(
    context: Context, row: WaitingMerge, key: SessionKey
) -> tuple[Opened | Blocked | Waiting, WaitingCheck | None]:
    """And the checks that it has to wait for now that it is open."""
    from fordjent.gates.checks import awaited
    from fordjent.gates.pull_requests import propose
    from fordjent.tools.ground import RunFolder
    from fordjent.workspaces.workspaces import Workspaces

    forge, token = context.forge, context.config.forgejo.token
    workspaces = await threads.run(Workspaces, context.config, forge.url, token, redactor=context.redactor)
    place = await threads.run_in(workspaces.root(key.repository), workspaces.prepare, key, row.head, row.base)
    proposal = Proposal(
        context=context,
        forge=forge,
        place=place,
        run=f"retry-{os.urandom(8).hex()}",
        title=row.title,
        body=row.body,
        effect=f"{row.key}:waited:{row.since}",
        waited=True,
    )
    try:
        verdict = await propose(proposal)
        assert not isinstance(verdict, Begun)  # what waits for a pull request is in no empty repository
        if isinstance(verdict, Opened):
            return verdict, await awaited(context, row.key, verdict.number, place)
        return verdict, None
    finally:
        await threads.run(RunFolder.of(context.config, proposal.run).remove)


def _note(
    connection: Connection,
    row: WaitingMerge,
    verdict: Opened | Blocked | Waiting,
    waits: WaitingCheck | None,
    session: Session,
    now: float,
) -> None:
    """What the session is now; a verdict that needs the agent is its next input."""
    from fordjent.deciding.actions import Input

    if isinstance(verdict, Opened):
        sessions.note(connection, row.key, pull=verdict.number)
        if session.state == "waiting" and waits:
            waiting_checks.put(connection, waits)
            transitions.change(connection, row.key, "waiting", waits.reason, now)
        elif session.state == "waiting":
            transitions.change(
                connection, row.key, "completed", f"pull request #{verdict.number} is open", now
            )
    elif isinstance(verdict, Waiting):
        if session.state == "waiting":
            transitions.change(connection, row.key, "waiting", verdict.reason, now)
    else:
        text = f"The pull request that waited for others was tried again, and stopped at {verdict.gate}: {verdict}"
        told = Input(kind="retry", source=f"retry:{row.since}:{verdict.commit}", text=text, at=now)
        inputs.feed(connection, row.key, session.role, told, None, now, 0.0, by_person=False)
