"""The scheduler's look at a repository: what may begin does, the others are labelled, and what is stuck is said.

Repeatable, after kill -9 anywhere too: every label, comment and start is known again. What is not in
`waiting_issues` is not touched: a label `blocked` of somebody else's stays, and holds.
"""

from __future__ import annotations

import time

from sqlalchemy import Connection

from fordjent.context import Context
from fordjent.forge import labels
from fordjent.forge.errors import ForgeError, Unreachable
from fordjent.once import once
from fordjent.roles.roles import ROLES
from fordjent.scheduling import beginning, observing, saying, wholes
from fordjent.scheduling.observing import Seen
from fordjent.scheduling.plan import Plan, plan
from fordjent.sessions.labels_of_state import BLOCKED, READY
from fordjent.store import effects, inputs, sessions, waiting_issues
from fordjent.store.waiting_issues import WaitingIssue
from harness.config import seconds
from harness.effects import reached


async def look(context: Context, repository: str) -> None:
    """
    Raises:
        Unreachable: the forge does not answer.
    """
    rows = await context.database.read(waiting_issues.of_repository, repository)
    if rows:
        scaffold = await beginning.lay_ground(context, repository, rows)
        seen = await observing.observe(context.forge, repository, [row.number for row in rows])
        made = plan(seen.things.values(), [row.number for row in rows])
        context.log.info(
            "schedule.planned", repository=repository, waves=made.waves, stuck=made.stuck, cycles=made.cycles
        )
        for row in rows:
            await _settle(context, row, seen, made, scaffold)
        await saying.cycles(context, repository, made.cycles)
    await beginning.finish(context, repository)
    await wholes.follow(context, repository)


async def _settle(context: Context, row: WaitingIssue, seen: Seen, made: Plan, scaffold: int | None) -> None:
    """One issue that waits. Where the forge refuses a label or a comment, the work goes on."""
    issue = seen.issues.get(row.number)
    if issue is None:
        await context.database.write(waiting_issues.drop, row.key)
        return
    if issue.state != "open":
        return
    for_ground = scaffold is not None and ROLES[row.role].writes_code and row.number != scaffold
    has_session = await context.database.read(sessions.get, row.key) is not None  # its labels are its own
    is_set = BLOCKED in issue.label_names and not has_session
    foreign = is_set and not row.labelled and not await _is_ours(context, row)
    blocked_by = made.blocked.get(row.number, ())
    try:
        if blocked_by or for_ground:
            await _hold(context, row, blocked_by, may_label=not (foreign or has_session))
            if for_ground and scaffold:
                await saying.waits_for_ground(context, row, scaffold)
            await saying.stuck(context, row, seen, blocked_by)
        elif not (foreign or has_session):
            await labels.change(context.forge, row.repository, row.number, on=[READY], off=[BLOCKED])
    except Unreachable:
        raise
    except ForgeError as error:
        context.log.warning("schedule.not_shown", issue=row.key, why=error.message)
    if not (blocked_by or for_ground or foreign):
        reached("issue-ready")
        await _begin(context, row)


def _label_effect(row: WaitingIssue) -> str:
    return f"{row.key}:blocked:{row.since}"


async def _is_ours(context: Context, row: WaitingIssue) -> bool:
    """Whether we began to set `blocked`, and were killed before that was noted."""
    return await context.database.read(effects.get, _label_effect(row)) is not None


async def _hold(context: Context, row: WaitingIssue, waits_for: tuple[int, ...], *, may_label: bool) -> None:
    """Label it, once: a person who takes the label off is not argued with."""
    if may_label and not row.labelled:

        async def find() -> bool | None:
            there = await labels.of_issue(context.forge, row.repository, row.number)
            return True if BLOCKED in {label.name for label in there} else None

        async def add() -> bool:
            await labels.change(context.forge, row.repository, row.number, on=[BLOCKED], off=[READY])
            return True

        await once(context, _label_effect(row), "label", row.key, find=find, do=add, result=bool)
        await context.database.write(waiting_issues.note, row.key, waits_for, True)
    elif row.waits_for != waits_for:
        await context.database.write(waiting_issues.note, row.key, waits_for, row.labelled)


async def _begin(context: Context, row: WaitingIssue) -> None:
    """The label is set already: who begins finds it, and takes it off again."""
    quiet = seconds(context.config.sessions.coalesce)

    def write(connection: Connection, now: float) -> bool:
        if not waiting_issues.drop(connection, row.key):  # a person had it begun meanwhile
            return False
        return inputs.feed(
            connection, row.key, row.role, row.input, None, now, quiet, by_person=row.by_person
        )

    if await context.database.write(write, time.time()):
        context.log.info("schedule.begins", issue=row.key, role=row.role)
        context.bus.woke("sessions")
        context.bus.woke("changes")
