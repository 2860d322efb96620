"""A decision, written down: the event decided, and all that comes of it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from sqlalchemy import Connection, bindparam, update

from fordjent.deciding.actions import (
    Action,
    Cancel,
    Close,
    Feed,
    Hold,
    Lay,
    Nothing,
    Remember,
    Reschedule,
    RetryMerges,
)
from fordjent.store import deliveries, events, inputs, issues, repositories, scaffolds, waiting_issues
from fordjent.store import schema as tables

RETRY_MERGE = "retry_merge"
"""Kind of the event that has the pull requests tried again which wait for others."""
SCHEDULE = "schedule"
"""Kind of the event that has the issues looked at which wait for others."""
RECONCILE = "reconcile"
"""Kind of the event that has a repository compared with what was handled of it."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about the event `event_id`. `default_branch`: of its repository, where that is news; else ""."""

    event_id: int
    repository: str
    default_branch: str
    actions: tuple[Action, ...]


def apply(
    connection: Connection,
    decision: Decision,
    coalesce_seconds: float,
    redact: Callable[[str], str],
    now: float,
) -> bool:
    """False: the event was decided before, and nothing is done.

    Guide was done before, outside.
    """
    actions = [_without_secrets(action, redact) for action in decision.actions]
    shown = msgspec.json.encode(actions).decode()
    settled = {"of_event": decision.event_id, "shown": shown, "now": now}
    if not connection.execute(_SETTLE, settled).rowcount:
        return False
    if decision.default_branch:
        repositories.seen(connection, decision.repository, decision.default_branch, now)
    for action in actions:
        _apply(connection, action, decision.event_id, coalesce_seconds, now)
    return True


_SETTLE = (
    update(tables.events)
    .where(tables.events.c.id == bindparam("of_event"), tables.events.c.state == "new")
    .values(state="decided", actions=bindparam("shown"), decided_at=bindparam("now"))
)


def _without_secrets(action: Action, redact: Callable[[str], str]) -> Action:
    if isinstance(action, (Feed, Hold)):
        told = msgspec.structs.replace(action.input, text=redact(action.input.text))
        return msgspec.structs.replace(action, input=told)
    if isinstance(action, Remember):
        return msgspec.structs.replace(action, title=redact(action.title))
    return action


def _apply(
    connection: Connection,
    action: Action,
    event_id: int,
    coalesce_seconds: float,
    now: float,
) -> None:
    if isinstance(action, Feed):
        waiting_issues.drop(connection, action.key)
        inputs.feed(
            connection,
            action.key,
            action.role,
            action.input,
            event_id,
            now,
            coalesce_seconds,
            by_person=action.by_person,
            branch=action.branch,
            base=action.base,
            pull=action.pull,
            not_before=action.not_before,
        )
    elif isinstance(action, Remember):
        known = {name: getattr(action, name) for name in action.__struct_fields__}
        issues.remember(connection, issues.KnownIssue(**known, seen_at=now))
    elif isinstance(action, Cancel):
        inputs.cancel(connection, action.key, action.reason)
    elif isinstance(action, Close):
        inputs.close(connection, action.key)
    elif isinstance(action, Hold):
        waiting_issues.put(connection, action.key, action.role, action.input, now, by_person=action.by_person)
    elif isinstance(action, Lay):
        scaffolds.claim(connection, action.repository, action.number, now)
    elif isinstance(action, Reschedule):
        events.ask(connection, SCHEDULE, action.repository, now)
    elif isinstance(action, RetryMerges):
        events.ask(connection, RETRY_MERGE, action.repository, now)
    elif isinstance(action, Nothing) and action.own:
        deliveries.filtered(connection, event_id, action.reason)
