"""Order and reasons of selection, as tables of values."""

from __future__ import annotations

import random
from collections.abc import Mapping

import msgspec
import pytest

from ent_agent.selection.readiness import (
    Situation,
    Task,
    cycle_through,
    in_order,
    obstacle,
    passed_over,
    waits_for,
)
from ent_agent.tracker.model import State

STATES: Mapping[str, State] = {
    "a": "new",
    "b": "inprogress",
    "c": "backlog",
    "d": "blocked",
    "done": "done",
    "wont": "wontdo",
}


def task(name: str = "t", state: State = "new", created: int = 0, **more: object) -> Task:
    return Task(id=name, state=state, created=(created, 0), **more)  # type: ignore[arg-type]


def test_blocked_comes_first_then_inprogress_backlog_new() -> None:
    tasks = [task(state, state) for state in ("new", "backlog", "inprogress", "blocked")]
    assert [one.state for one in in_order(tasks)] == ["blocked", "inprogress", "backlog", "new"]


def test_within_a_state_the_oldest_comes_first_then_the_lower_id() -> None:
    tasks = [task("z", created=1), task("b", created=2), task("a", created=2), task("y", created=3)]
    random.shuffle(tasks)
    assert [one.id for one in in_order(tasks)] == ["z", "a", "b", "y"]


def test_times_before_the_epoch_and_within_a_second_are_ordered_too() -> None:
    tasks = [
        Task(id="late", state="new", created=(5, 2)),
        Task(id="early", state="new", created=(5, 1)),
        Task(id="ancient", state="new", created=(-5, 0)),
    ]
    assert [one.id for one in in_order(tasks)] == ["ancient", "early", "late"]


def test_what_cannot_be_read_comes_last() -> None:
    tasks = [task("broken", "blocked", unreadable="state"), task("new")]
    assert [one.id for one in in_order(tasks)] == ["new", "broken"]


@pytest.mark.parametrize(
    ("state", "dependencies", "why"),
    [
        ("new", (), ""),
        ("new", ("done", "wont"), ""),
        ("new", ("nobody knows it",), ""),
        ("new", ("a",), "waits for a (new)"),
        ("backlog", ("done", "b", "d"), "waits for b (inprogress), d (blocked)"),
        ("inprogress", ("a",), ""),
        ("blocked", ("a",), ""),
    ],
)
def test_an_open_dependency_holds_up_what_was_not_begun(
    state: State, dependencies: tuple[str, ...], why: str
) -> None:
    assert waits_for(task("t", state, dependencies=dependencies), Situation(states=STATES)) == why


@pytest.mark.parametrize(
    ("dependencies", "cycle"),
    [
        ({"t": ("t",)}, ["t", "t"]),
        ({"t": ("a",), "a": ("t",)}, ["t", "a", "t"]),
        ({"t": ("c", "a"), "a": ("b",), "b": ("t",)}, ["t", "a", "b", "t"]),
        ({"t": ("a",), "a": ("b",), "b": ("a",)}, []),  # a circle that it only waits for
        ({"t": ("a",), "a": ("b",), "b": ()}, []),
    ],
)
def test_a_circle_of_dependencies_is_told(dependencies: dict[str, tuple[str, ...]], cycle: list[str]) -> None:
    situation = Situation(states={**STATES, "t": "new"}, dependencies=dependencies)
    assert cycle_through("t", dependencies["t"], situation) == cycle
    why = waits_for(task("t", dependencies=dependencies["t"]), situation)
    assert why.startswith("its dependencies go in a circle" if cycle else "waits for")


def test_a_circle_through_something_finished_is_none() -> None:
    situation = Situation(states={"t": "new", "x": "done"}, dependencies={"x": ("t",)})
    assert waits_for(task("t", dependencies=("x",)), situation) == ""


def test_a_long_chain_of_dependencies_is_walked_without_recursion() -> None:
    chain = {str(number): (str(number + 1),) for number in range(5000)} | {"5000": ("0",)}
    situation = Situation(states=dict.fromkeys(chain, "new"), dependencies=chain)
    assert len(cycle_through("0", chain["0"], situation)) == 5002


@pytest.mark.parametrize(
    ("situation", "why"),
    [
        (Situation(handed_back=frozenset("t")), "was handed back"),
        (Situation(back_off={"t": "2030-01-01T00:00:00+00:00"}), "until 2030-01-01T00:00:00+00:00"),
        (Situation(stop="the agent is out of quota"), "out of quota"),
        (Situation(in_work=frozenset("t")), "another process"),
        (Situation(claimed={"t": "host2"}), "in work on host2"),
        (Situation(checked_out={"t": "/home/ada/x"}), "checked out at /home/ada/x"),
    ],
)
def test_each_reason_is_said(situation: Situation, why: str) -> None:
    assert why in passed_over(task(), situation)
    others = of_others(situation)
    assert passed_over(task("u"), others) == ""


def of_others(situation: Situation) -> Situation:
    """The same without what holds for all issues."""
    return msgspec.structs.replace(situation, stop="")


def test_a_person_may_ask_for_an_issue_before_its_turn_but_not_against_an_obstacle() -> None:
    waiting = Situation(back_off={"t": "later"}, stop="paused", handed_back=frozenset("t"))
    assert obstacle(task(), waiting) == "" and waits_for(task(), waiting)
    assert obstacle(task(), Situation(claimed={"t": "host2"}))
    assert obstacle(task(unreadable="state: x"), Situation())
