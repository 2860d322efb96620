"""A pull request is called ready when its checks are over: until then its session waits, and no worker with it.

    run ends -> waits for checks -> passed: ready (and merged, where the policy says so)
                                 -> failed: the session is told, and mends it; a few times, then a person must look
                                 -> not over in time: a person must look

Forgejo sends no event for a commit's status, so it is asked: soon, then less and less often.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from fordjent import threads
from fordjent.forge import pulls
from fordjent.forge.errors import NotFound
from fordjent.forge.types import Pull
from fordjent.gates import ci, lease, merging
from fordjent.gates.ci import Checks
from fordjent.session_key import SessionKey
from fordjent.store import inputs, pausing, runs, sessions, transitions, waiting_checks
from fordjent.store.sessions import Session
from fordjent.store.waiting_checks import WaitingCheck
from harness.config import seconds
from harness.errors import Busy, Failure

if TYPE_CHECKING:
    from fordjent.context import Context
    from fordjent.sessions.states import State
    from fordjent.workspaces.place import Place

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 300.0
MENDED = 3
"""So often an agent is told of failed checks, before a person must look; each word of a person counts anew."""
AT_ONCE = 20
MERGE_PATIENCE_SECONDS = 10.0


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a session that waited. `state` waiting: it is told `text`, and works on it."""

    state: State
    reason: str
    text: str = ""


async def awaited(context: Context, key: str, number: int, place: Place) -> WaitingCheck | None:
    """What the session of a pull request has to wait for; None: it is ready.

    Raises:
        ForgeError, TryLater: the forge or git does not say.
    """
    timeout = seconds(context.config.policy.ci_timeout)
    is_auto = context.config.policy.merge == "auto"
    if not timeout and not is_auto:
        return None
    repository = SessionKey.parse(key).repository
    pull = await pulls.get(context.forge, repository, number)
    if pull.merged or pull.state != "open":
        return None
    checks = await ci.ask(context.forge, repository, pull.head.sha)
    expected = bool(checks.found) or await _are_expected(context, repository, place)
    verdict = ci.judge(checks, waited_seconds=0.0, timeout_seconds=timeout, expected=expected)
    if verdict in ("passed", "none") and not is_auto:
        return None
    now = time.time()
    return WaitingCheck(
        key=key,
        repository=repository,
        pull=number,
        commit=pull.head.sha,
        expected=expected,
        since=now,
        look_at=now + (FIRST_PAUSE_SECONDS if verdict == "pending" else 0.0),
    )


async def look(context: Context) -> int:
    """Ask for all that is due; how many have settled."""
    if await context.database.read(pausing.current):
        return 0
    due = await context.database.read(waiting_checks.due, time.time(), LONGEST_PAUSE_SECONDS, AT_ONCE)
    settled = 0
    for row in due:
        try:
            async with lease.held(context, row.key) as session:
                settled += await _look_at(context, session)
        except Failure as failure:  # one that cannot be looked at keeps no other from it
            if not isinstance(failure, Busy):
                context.log.info("checks.later", session=row.key, why=failure.message)
            await _later(context, row)
    return settled


async def _look_at(context: Context, session: Session) -> bool:
    row = await context.database.read(waiting_checks.of_key, session.key)
    if row is None or session.state != "waiting" or session.ready_at is not None:
        await context.database.write(waiting_checks.drop, session.key)  # the next run's end sees to it
        return False
    settled = await _settled(context, row)
    if settled is None:
        return False
    await context.database.write(_note, row, session, settled, time.time())
    context.bus.woke("sessions")
    context.bus.woke("changes")
    await _show(context, session.key, settled)
    return True


async def _show(context: Context, key: str, settled: Settled) -> None:
    from fordjent.forge.reactions import DONE
    from fordjent.sessions import showing

    await showing.show(context, key)
    if settled.state == "completed":
        last = (await context.database.read(runs.of, key))[-1:]
        told = [one for run in last for one in await context.database.read(inputs.of_run, key, run.id)]
        await showing.react(context, key, [one.source for one in told], on=DONE)


async def _settled(context: Context, row: WaitingCheck) -> Settled | None:
    """None: it has to wait on, and is asked for again later."""
    try:
        pull = await pulls.get(context.forge, row.repository, row.pull)
    except NotFound:
        return Settled(state="blocked", reason=f"Pull request #{row.pull} is not there any more.")
    if pull.merged:
        return Settled(state="completed", reason=f"Pull request #{row.pull} is merged.")
    if pull.state != "open":
        return Settled(state="blocked", reason=f"Pull request #{row.pull} was closed without being merged.")
    if pull.head.sha != row.commit:
        await context.database.write(waiting_checks.put, _of_new_head(row, pull))
        return None
    checks = await ci.ask(context.forge, row.repository, row.commit)
    timeout = seconds(context.config.policy.ci_timeout)
    waited = time.time() - row.since
    if waited < 0:  # the clock was set back: it is waited for as long again, and no longer
        await context.database.write(waiting_checks.put, _anew(row))
        return None
    verdict = ci.judge(checks, waited_seconds=waited, timeout_seconds=timeout, expected=row.expected)
    if verdict == "pending":
        await _later(context, row)
        return None
    if verdict == "failed":
        return await _failed(context, row, checks)
    if verdict == "late":
        waited_for = context.config.policy.ci_timeout
        return Settled(
            state="blocked",
            reason=f"Checks of pull request #{row.pull} have not ended within {waited_for}: {ci.names(checks.pending)}.",
        )
    return await _ready(context, row, "Its checks have passed." if checks.found else "")


async def _failed(context: Context, row: WaitingCheck, checks: Checks) -> Settled:
    failed = ", ".join(
        f"[{one.context}]({one.target_url})" if one.target_url else one.context for one in checks.failed
    )
    source = f"checks:{row.commit}"
    known = source in await context.database.read(inputs.sources, row.key, source)
    if known:
        return Settled(state="blocked", reason=f"Checks of pull request #{row.pull} still fail: {failed}.")
    if await context.database.read(waiting_checks.told, row.key) >= MENDED:
        return Settled(
            state="blocked",
            reason=f"Checks of pull request #{row.pull} fail, after {MENDED} tries to mend them: {failed}.",
        )
    return Settled(
        state="waiting",
        reason=f"Checks of pull request #{row.pull} have failed: {failed}. I look at it.",
        text=ci.told(checks, row.pull),
    )


async def _ready(context: Context, row: WaitingCheck, checked: str) -> Settled:
    """And merged, where that is the policy, at the very commit that was checked."""
    ready = f"Pull request #{row.pull} is ready. {checked}".strip()
    if context.config.policy.merge != "auto":
        return Settled(state="completed", reason=ready)
    done = await merging.merge(
        context, row.repository, row.pull, row.commit, patience_seconds=MERGE_PATIENCE_SECONDS
    )
    if isinstance(done, merging.Merged):
        return Settled(state="completed", reason=f"Pull request #{row.pull} is merged. {checked}".strip())
    return Settled(state="completed", reason=f"{ready} It is not merged: {done.reason}.")


def _note(connection: Connection, row: WaitingCheck, session: Session, settled: Settled, now: float) -> None:
    """What the session is now; failed checks are its next input."""
    from fordjent.deciding.actions import Input

    waiting_checks.drop(connection, row.key)
    there = sessions.get(connection, row.key)
    if there is None or there.state != "waiting":
        return
    sessions.note(connection, row.key, pull=row.pull)
    transitions.change(connection, row.key, settled.state, settled.reason, now)
    if settled.text:
        source = f"checks:{row.commit}"
        told = Input(kind="checks", source=source, text=settled.text, at=now)
        inputs.feed(connection, row.key, session.role, told, None, now, 0.0, by_person=False)


async def _later(context: Context, row: WaitingCheck) -> None:
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(row.looks, 20), LONGEST_PAUSE_SECONDS)
    await context.database.write(waiting_checks.later, row.key, row.looks + 1, time.time() + pause)


def _of_new_head(row: WaitingCheck, pull: Pull) -> WaitingCheck:
    return msgspec.structs.replace(_anew(row), commit=pull.head.sha)


def _anew(row: WaitingCheck) -> WaitingCheck:
    now = time.time()
    return msgspec.structs.replace(row, since=now, looks=0, look_at=now + FIRST_PAUSE_SECONDS)


async def _are_expected(context: Context, repository: str, place: Place) -> bool:
    def of_tree() -> tuple[list[str], str]:
        return ci.workflows(place.control, place.head()), place.base_commit

    tree, base_commit = await threads.run(of_tree)
    return await ci.are_expected(context.forge, repository, base_commit, tree)
