"""The one push to a default branch that is ours to make: the first commit of an empty repository.

Only the issue that lays the ground may (`scaffolds`), only while the forge has no such branch (the push
carries a lease on that), and only after the gates for branch and checks.
"""

from __future__ import annotations

import time

import msgspec
from sqlalchemy import Connection

from fordjent import threads
from fordjent.context import Context
from fordjent.deciding.applying import SCHEDULE
from fordjent.gates import push
from fordjent.gates.gate import Begun, Blocked, Proposal
from fordjent.once import once
from fordjent.session_key import SessionKey
from fordjent.store import effects, events, repositories, scaffolds
from fordjent.workspaces.place import Place
from harness.errors import Failure
from harness.worktrees.pair import REMOTE

GATE = "first_push"


class _NotPushed(Failure):
    def __init__(self, blocked: Blocked) -> None:
        super().__init__(blocked.reason)
        self.blocked = blocked


async def is_due(proposal: Proposal) -> bool:
    """Whether the proposal is that one push, or was."""
    place, key = proposal.place, proposal.key
    if not await may(proposal.context, key):
        return False
    effect = await proposal.context.database.read(effects.get, _effect(key))
    head = await threads.run_in(place.root, place.head)
    if effect and effect.is_done:
        return msgspec.json.decode(effect.result, type=Begun).commit == head
    there = await threads.run_in(place.root, _there, place)
    if there is None:
        return bool(place.begins_at)
    return effect is not None and place.control.is_ancestor(head, there)


async def may(context: Context, key: SessionKey) -> bool:
    """Whether the session is the one that lays the ground."""
    number = await context.database.read(scaffolds.of_repository, key.repository)
    return not key.is_pull and number == key.number


async def done(context: Context, key: SessionKey, commit: str) -> str:
    """The branch whose first commit the session made, where that is `commit`; "": it did not."""
    effect = await context.database.read(effects.get, _effect(key))
    if effect is None or not effect.is_done or not await may(context, key):
        return ""
    begun = msgspec.json.decode(effect.result, type=Begun)
    return begun.branch if begun.commit == commit else ""


async def check(proposal: Proposal) -> Begun | Blocked:
    """Push, and note that the repository has commits. The scheduler closes the issue when its run has ended.

    Repeatable after a kill.

    Raises:
        TryLater: the forge did not answer.
    """
    context, place, key = proposal.context, proposal.place, proposal.key
    tip = await threads.run_in(place.root, place.head)

    async def find() -> Begun | None:
        there = await threads.run_in(place.root, _there, place)
        is_done = there is not None and place.control.is_ancestor(tip, there)
        return Begun(gate=GATE, branch=place.base, commit=tip) if is_done else None

    async def begin() -> Begun:
        verdict = await threads.run_in(place.root, push.first, place)
        if isinstance(verdict, Blocked):
            raise _NotPushed(verdict)
        return Begun(gate=GATE, branch=place.base, commit=tip)

    try:
        begun = await once(context, _effect(key), "push", str(key), find=find, do=begin, result=Begun)
    except _NotPushed as failure:
        return failure.blocked
    await context.database.write(_note, key.repository, place.base, time.time())
    context.bus.woke("events")
    return begun


def _there(place: Place) -> str | None:
    """Where the forge has the default branch now; None: it has none."""
    place.fetch()
    return place.control.resolve(f"{REMOTE}{place.base}")


def _effect(key: SessionKey) -> str:
    return f"{key.repository}:first-push"


def _note(connection: Connection, repository: str, branch: str, now: float) -> None:
    repositories.note_commits(connection, repository, branch, now)
    events.ask(connection, SCHEDULE, repository, now)
