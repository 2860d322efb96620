"""What may begin, what waits and for what, in which waves, and what waits for itself. Values in, values out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import msgspec

State = Literal["open", "closed", "merged", "missing"]
"""missing: there is no such number (yet)."""


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    """An issue or pull request."""

    number: int
    is_pull: bool = False
    state: State = "open"
    depends_on: tuple[int, ...] = ()

    @property
    def is_done(self) -> bool:
        """Closed, or, of a pull request, merged: one that was closed without that has not brought its change."""
        return self.state == ("merged" if self.is_pull else "closed")

    @property
    def is_dropped(self) -> bool:
        """A pull request that was closed unmerged: it is never done, unless it is opened again."""
        return self.is_pull and self.state == "closed"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """About the issues that wait and are open.

    `ready`: nothing holds them; `blocked`: what is not done yet of what each depends on;
    `waves`: them again, those first that need no other: the first is worked (or waits for what is
    open already), each next one after the one before it. `stuck`: those that no wave has, since
    without a person they never can: of a cycle, or after what was dropped or is missing.
    """

    ready: tuple[int, ...]
    blocked: dict[int, tuple[int, ...]]
    waves: tuple[tuple[int, ...], ...]
    stuck: tuple[int, ...]
    cycles: tuple[tuple[int, ...], ...]
    """Each in the order in which one depends on the next, from its lowest number on."""


def plan(things: Iterable[Thing], waiting: Collection[int]) -> Plan:
    """`things`: those that wait, and all that they depend on, over however many others. What is not among them is missing."""
    known = {thing.number: thing for thing in things}
    wanted = sorted(number for number in waiting if number in known and known[number].state == "open")
    blocked = {number: missing for number in wanted if (missing := _undone(known, number))}
    cycles = tuple(_cycles(known))
    levels = _levels(known)
    waves: dict[int, list[int]] = {}
    for number in wanted:
        if number in levels:
            waves.setdefault(levels[number], []).append(number)
    return Plan(
        ready=tuple(number for number in wanted if number not in blocked),
        blocked=blocked,
        waves=tuple(tuple(waves[level]) for level in sorted(waves)),
        stuck=tuple(number for number in wanted if number not in levels),
        cycles=cycles,
    )


def _undone(known: Mapping[int, Thing], number: int) -> tuple[int, ...]:
    depends_on = dict.fromkeys(known[number].depends_on)
    return tuple(other for other in depends_on if other not in known or not known[other].is_done)


def _levels(known: Mapping[int, Thing]) -> dict[int, int]:
    """How many must be done one after the other before each open thing; without those that never can."""
    needs = {number: set(_undone(known, number)) for number, thing in known.items() if thing.state == "open"}
    needed_by: dict[int, list[int]] = {}
    for number, others in needs.items():
        for other in others:
            needed_by.setdefault(other, []).append(number)
    levels = {number: 0 for number, others in needs.items() if not others}
    front = list(levels)
    while front:
        done, front = front, []
        for number in done:
            for other in needed_by.get(number, ()):
                needs[other].discard(number)
                if not needs[other]:
                    levels[other] = levels[number] + 1
                    front.append(other)
    return levels


def _cycles(known: Mapping[int, Thing]) -> list[tuple[int, ...]]:
    """One way round for each knot of open things that depend on each other."""
    edges = {
        number: [other for other in _undone(known, number) if other in known and known[other].state == "open"]
        for number, thing in known.items()
        if thing.state == "open"
    }
    return ways_round(edges)


def ways_round(edges: Mapping[int, list[int]]) -> list[tuple[int, ...]]:
    """One for each knot of numbers that lead to each other; all that an edge leads to are among the keys."""
    found = []
    for knot in _knots(edges):
        first = min(knot)
        if len(knot) > 1 or first in edges[first]:
            found.append(_way_round(edges, first, knot))
    return sorted(found)


def _way_round(edges: Mapping[int, list[int]], first: int, knot: set[int]) -> tuple[int, ...]:
    """The shortest way from `first` back to it."""
    came_from: dict[int, int] = {}
    front = [first]
    while front:
        number = front.pop(0)
        for other in sorted(edges[number]):
            if other == first:
                way = [number]
                while way[-1] != first:
                    way.append(came_from[way[-1]])
                return tuple(reversed(way))
            if other in knot and other not in came_from:
                came_from[other] = number
                front.append(other)
    raise AssertionError("from each of a knot there is a way to each other one")


def _knots(edges: Mapping[int, list[int]]) -> list[set[int]]:
    """Strongly connected components (Tarjan), without recursion: a chain may be long."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[set[int]] = []
    for root in sorted(edges):
        work = [(root, iter(edges[root]))] if root not in index else []
        while work:
            number, others = work[-1]
            if number not in index:
                index[number] = low[number] = len(index)
                stack.append(number)
                on_stack.add(number)
            deeper = next((other for other in others if other not in index), None)
            if deeper is not None:
                work.append((deeper, iter(edges[deeper])))
                continue
            work.pop()
            seen = [other for other in edges[number] if other in on_stack]
            low[number] = min([low[number], *(low[other] for other in seen)])
            if low[number] == index[number]:
                at = stack.index(number)
                found.append(set(stack[at:]))
                on_stack -= set(stack[at:])
                del stack[at:]
    return found
