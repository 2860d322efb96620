"""From a branch to a pull request: every gate in order, each verdict written down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from fordjent.gates import branch, first_push, merge_queue, opening, push, stale, verify
from fordjent.gates.gate import Begun, Blocked, Opened, Passed, Proposal, Verdict, Waiting
from fordjent.memory import annotating
from fordjent.store import gate_results, sessions, waiting_merges
from fordjent.store.gate_results import GateResult
from fordjent.store.waiting_merges import WaitingMerge
from harness.effects import reached

Gate = Callable[[Proposal], Awaitable[Verdict]]

GATES: tuple[tuple[str, Gate], ...] = (
    (branch.GATE, branch.check),
    (stale.GATE, stale.check),
    (verify.GATE, verify.check),
    (push.GATE, push.check),
    (merge_queue.GATE, merge_queue.check),
    (opening.GATE, opening.check),
)
ALONE = (merge_queue.GATE, opening.GATE)
"""In a repository one proposal at a time: else two that change one file would both find the way free."""

BEGINNING: tuple[tuple[str, Gate], ...] = (
    (branch.GATE, branch.check),
    (verify.GATE, verify.check),
    (first_push.GATE, first_push.check),
)
"""For the first commit of an empty repository, in the place of all of them."""

_locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


async def propose(proposal: Proposal) -> Opened | Blocked | Waiting | Begun:
    """Take the branch through all gates. Repeatable after a kill at any point.

    Raises:
        ForgeError, TryLater: the forge or git failed; what was passed stays passed.
    """
    if await first_push.is_due(proposal):
        return await _begun(proposal)
    return await _proposed(proposal)


async def _begun(proposal: Proposal) -> Begun | Blocked:
    for name, _ in BEGINNING if proposal.place.begins_at else BEGINNING[-1:]:
        verdict = await pass_gate(proposal, name)
        if isinstance(verdict, (Begun, Blocked)):
            return verdict
    raise AssertionError("the last gate begins or blocks")


async def _proposed(proposal: Proposal) -> Opened | Blocked | Waiting:
    for name, _ in GATES[: -len(ALONE)]:
        verdict = await pass_gate(proposal, name)
        if isinstance(verdict, Blocked):
            await _waits_no_more(proposal)
            return verdict
    await annotating.annotate(proposal.context, proposal.place)
    repository = proposal.key.repository.lower()
    lock = _locks.setdefault((id(proposal.context.database), repository), asyncio.Lock())
    async with lock:
        return await _opened(proposal)


async def pass_gate(proposal: Proposal, name: str) -> Verdict:
    """The verdict of one gate, written down.

    Raises:
        KeyError: there is no such gate.
    """
    begun = time.monotonic()
    verdict = await dict((*GATES, *BEGINNING))[name](proposal)
    result = GateResult(
        key=str(proposal.key),
        gate=name,
        commit=verdict.commit,
        passed=isinstance(verdict, (Passed, Opened, Begun)),
        reason=verdict.note if isinstance(verdict, Passed) else _reason(verdict),
        seconds=time.monotonic() - begun,
        at=time.time(),
    )
    await proposal.context.database.write(gate_results.add, result)
    reached(f"gate-{name}")
    return verdict


async def _opened(proposal: Proposal) -> Opened | Blocked | Waiting:
    for name in ALONE:
        verdict = await pass_gate(proposal, name)
        if isinstance(verdict, Waiting):
            await proposal.context.database.write(_wait, proposal, verdict, time.time())
            return verdict
        if isinstance(verdict, (Opened, Blocked)):
            await _waits_no_more(proposal)
            return verdict
    raise AssertionError("the last gate opens or blocks")


async def _waits_no_more(proposal: Proposal) -> None:
    if not proposal.waited:
        await proposal.context.database.write(waiting_merges.drop, str(proposal.key))


def _wait(connection: Connection, proposal: Proposal, verdict: Waiting, now: float) -> None:
    key = str(proposal.key)
    if sessions.get(connection, key) is None:  # a gate that was run by hand
        return
    waiting_merges.put(
        connection,
        WaitingMerge(
            key=key,
            repository=proposal.key.repository,
            head=proposal.place.branch,
            base=proposal.place.base,
            title=proposal.title,
            body=proposal.body,
            waits_for=verdict.for_pulls,
            since=now,
        ),
    )


def _reason(verdict: Blocked | Waiting | Opened | Begun) -> str:
    if isinstance(verdict, Begun):
        return verdict.branch
    return f"#{verdict.number}" if isinstance(verdict, Opened) else verdict.reason
