"""Which issues are to be worked, in which order, and why others are not: rules, as functions of values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ent_agent.tracker.model import State

ORDER: tuple[State, ...] = ("blocked", "inprogress", "backlog", "new")
"""Blocked first: what a person has answered is nearly done."""
WAITS_FOR_DEPENDENCIES: tuple[State, ...] = ("backlog", "new")
FINISHED: tuple[State, ...] = ("done", "wontdo")


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """An open issue of the agent's. `created`: seconds and nanoseconds since the epoch."""

    id: str
    state: State
    created: tuple[int, int] = (0, 0)
    dependencies: tuple[str, ...] = ()
    unreadable: str = ""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What else is known when a choice is made; issues by their ids."""

    states: Mapping[str, State] = {}
    """Of all issues that can be read."""
    dependencies: Mapping[str, tuple[str, ...]] = {}
    """Of the open issues that tasks wait for, directly or not."""
    handed_back: frozenset[str] = frozenset()
    """Whose newest change is our own hand-back."""
    in_work: frozenset[str] = frozenset()
    """Whose lock another process of this host holds."""
    claimed: Mapping[str, str] = {}
    """Held by a live claim: the host."""
    checked_out: Mapping[str, str] = {}
    """Whose branch is checked out in another worktree: its path."""
    back_off: Mapping[str, str] = {}
    """Until when (RFC 3339) a back-off lasts."""
    stop: str = ""
    """Why no agent is to be started at all."""


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """By state, then oldest first, then by id; what cannot be read comes last."""
    return sorted(
        tasks, key=lambda task: (bool(task.unreadable), ORDER.index(task.state), task.created, task.id)
    )


def obstacle(task: Task, situation: Situation) -> str:
    """What stands against working it even where a person asks for it; "": nothing."""
    if task.unreadable:
        return f"cannot be read: {task.unreadable}"
    if task.id in situation.in_work:
        return "is being worked by another process"
    if task.id in situation.claimed:
        return f"is in work on {situation.claimed[task.id]}"
    if task.id in situation.checked_out:
        return f"its branch is checked out at {situation.checked_out[task.id]}"
    return ""


def waits_for(task: Task, situation: Situation) -> str:
    """Why it is not its turn yet; "": it is."""
    if task.state in WAITS_FOR_DEPENDENCIES and (
        open_ones := open_dependencies(task.dependencies, situation)
    ):
        if cycle := cycle_through(task.id, open_ones, situation):
            return f"its dependencies go in a circle: {' -> '.join(cycle)}"
        return "waits for " + ", ".join(f"{one} ({situation.states[one]})" for one in open_ones)
    if task.id in situation.handed_back:
        return "was handed back, and nobody changed it since"
    if task.id in situation.back_off:
        return f"waits after a failed attempt, until {situation.back_off[task.id]}"
    return situation.stop


def passed_over(task: Task, situation: Situation) -> str:
    """Why it is not worked now; "": it is ready."""
    return obstacle(task, situation) or waits_for(task, situation)


def open_dependencies(ids: Iterable[str], situation: Situation) -> list[str]:
    """Those that are neither done nor wontdo. An id that no issue has does not count."""
    return [one for one in ids if situation.states.get(one, "done") not in FINISHED]


def cycle_through(start: str, first: Iterable[str], situation: Situation) -> list[str]:
    """The way from an issue over open dependencies back to it, both ends named; [] when there is none."""
    came_from: dict[str, str] = {}
    pending = []
    for one in first:
        came_from.setdefault(one, start)
        pending.append(one)
    while pending:
        here = pending.pop()
        if here == start:
            return [*_way(start, came_from)]
        for one in open_dependencies(situation.dependencies.get(here, ()), situation):
            if one not in came_from:
                came_from[one] = here
                pending.append(one)
    return []


def _way(start: str, came_from: Mapping[str, str]) -> Iterator[str]:
    back = [start, came_from[start]]
    while back[-1] != start:
        back.append(came_from[back[-1]])
    yield from reversed(back)
