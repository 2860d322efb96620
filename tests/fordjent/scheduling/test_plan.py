"""The planner: a table, and what holds for every graph."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fordjent.scheduling.plan import Plan, State, Thing, plan


def graph(**named: tuple[int, ...] | tuple[str, tuple[int, ...]] | str) -> list[Thing]:
    """n1=(2, 3): an open issue; n2="closed"; p3="merged": a pull request."""
    things = []
    for name, value in named.items():
        state: State = "open"
        needs: tuple[int, ...] = ()
        if isinstance(value, str):
            state = value  # type: ignore[assignment]
        else:
            needs = value  # type: ignore[assignment]
        things.append(Thing(number=int(name[1:]), is_pull=name[0] == "p", state=state, depends_on=needs))
    return things


@pytest.mark.parametrize(
    ("things", "waiting", "ready", "blocked"),
    [
        (graph(n1=()), {1}, (1,), {}),
        (graph(n1=(2,), n2=()), {1}, (), {1: (2,)}),  # an open issue that is no pull request holds
        (graph(n1=(2,), n2=(), p3="merged"), {1, 2}, (2,), {1: (2,)}),
        (graph(n1=(2,), n2="closed"), {1}, (1,), {}),
        (graph(n1=(2,), p2="merged"), {1}, (1,), {}),
        (graph(n1=(2,), p2=()), {1}, (), {1: (2,)}),
        (graph(n1=(2,), p2="closed"), {1}, (), {1: (2,)}),  # closed unmerged is not done
        (graph(n1=(9,)), {1}, (), {1: (9,)}),  # not there (yet)
        (graph(n1=(2, 3), n2="closed", n3=()), {1}, (), {1: (3,)}),
        (graph(n1=(2, 2), n2=()), {1}, (), {1: (2,)}),
        (graph(n1=(1,)), {1}, (), {1: (1,)}),
        (graph(n1="closed", n2=(1,)), {1, 2}, (2,), {}),  # what is closed does not wait
        (graph(n1=(2,), n2=()), set(), (), {}),
    ],
)  # fmt: skip
def test_what_is_ready_and_what_waits_for_what(
    things: list[Thing], waiting: set[int], ready: tuple[int, ...], blocked: Mapping[int, tuple[int, ...]]
) -> None:
    made = plan(things, waiting)
    assert (made.ready, made.blocked) == (ready, blocked)


@pytest.mark.parametrize(
    ("things", "waves", "stuck", "cycles"),
    [
        (graph(n1=(), n2=(1,), n3=(1,), n4=(2, 3)), ((1,), (2, 3), (4,)), (), ()),
        (graph(n1=(), n2=(), n3=(1,)), ((1, 2), (3,)), (), ()),
        (graph(n1=(2,), n2=(1,), n3=(1,), n4=()), ((4,),), (1, 2, 3), ((1, 2),)),
        (graph(n5=(7,), n7=(6,), n6=(5,)), (), (5, 6, 7), ((5, 7, 6),)),
        (graph(n1=(1,)), (), (1,), ((1,),)),
        (graph(n1=(2,), n2=(1,), n3=(4,), n4=(3,)), (), (1, 2, 3, 4), ((1, 2), (3, 4))),
        (graph(n1=(2,), p2="closed", n3=(1,)), (), (1, 3), ()),
        (graph(n1=(9,), n2=(1,)), (), (1, 2), ()),
        (graph(n1=(2,), n2="closed", n3=(1,)), ((1,), (3,)), (), ()),
    ],
)  # fmt: skip
def test_waves_and_cycles(
    things: list[Thing],
    waves: tuple[tuple[int, ...], ...],
    stuck: tuple[int, ...],
    cycles: tuple[tuple[int, ...], ...],
) -> None:
    made = plan(things, {thing.number for thing in things if not thing.is_pull})
    assert (made.waves, made.stuck, made.cycles) == (waves, stuck, cycles)


def test_what_is_worked_already_comes_before_the_waves_and_is_in_none() -> None:
    made = plan(graph(n1=(), n2=(1,), n3=(2,)), {2, 3})
    assert (made.ready, made.waves) == ((), ((2,), (3,)))


def test_a_long_chain_needs_no_deep_stack() -> None:
    things = [Thing(number=n, depends_on=(n + 1,)) for n in range(1, 5000)] + [Thing(number=5000)]
    made = plan(things, range(1, 5001))
    assert made.ready == (5000,) and len(made.waves) == 5000
    ring = [replace(thing, depends_on=thing.depends_on or (1,)) for thing in things]
    assert len(plan(ring, range(1, 5001)).cycles[0]) == 5000


# ---- any graph

numbers = st.integers(1, 9)
things_strategy = st.dictionaries(
    numbers,
    st.builds(
        lambda is_pull, state, needs: (is_pull, state if is_pull or state != "merged" else "closed", needs),
        st.booleans(),
        st.sampled_from(["open", "open", "closed", "merged"]),
        st.lists(st.integers(1, 10), max_size=4),
    ),
    max_size=9,
)


def built(raw: dict[int, tuple[bool, State, list[int]]]) -> dict[int, Thing]:
    return {
        number: Thing(number=number, is_pull=is_pull, state=state, depends_on=tuple(needs))
        for number, (is_pull, state, needs) in raw.items()
    }


@given(things_strategy, st.sets(numbers))
def test_each_that_waits_is_ready_or_blocked_and_in_a_wave_or_stuck(
    raw: dict[int, tuple[bool, State, list[int]]], waiting: set[int]
) -> None:
    known = built(raw)
    made = plan(known.values(), waiting)
    wanted = sorted(number for number in waiting if number in known and known[number].state == "open")
    assert sorted([*made.ready, *made.blocked]) == wanted
    assert sorted([*(n for wave in made.waves for n in wave), *made.stuck]) == wanted
    assert not set(made.ready) & set(made.stuck)
    for number in made.ready:
        assert all(other in known and known[other].is_done for other in known[number].depends_on)


@given(things_strategy)
def test_done_wave_after_wave_all_but_what_is_stuck_is_done(
    raw: dict[int, tuple[bool, State, list[int]]],
) -> None:
    """Each wave is ready when those before it, and what was open besides, are done."""
    known = built(raw)
    waiting = {number for number, thing in known.items() if not thing.is_pull}
    made = plan(known.values(), waiting)
    for number, thing in known.items():
        if thing.is_pull and thing.state == "open" and _can_be_done(known, number):
            known[number] = replace(thing, state="merged")
    for wave in made.waves:
        assert set(wave) <= set(plan(known.values(), waiting).ready)
        known.update({number: replace(known[number], state="closed") for number in wave})
    assert plan(known.values(), waiting).ready == ()


def _can_be_done(known: dict[int, Thing], number: int) -> bool:
    """Whether no person is needed first."""
    seen: set[int] = set()
    path: list[tuple[int, frozenset[int]]] = [(number, frozenset())]
    while path:
        at, above = path.pop()
        if at in above or at not in known or known[at].is_dropped:
            return False
        if at in seen or known[at].state != "open":
            continue
        seen.add(at)
        path += [(other, above | {at}) for other in known[at].depends_on]
    return not any(set(cycle) & seen for cycle in plan(known.values(), known).cycles)


@given(things_strategy)
def test_a_cycle_is_a_way_round_of_open_things_and_each_is_told_once(
    raw: dict[int, tuple[bool, State, list[int]]],
) -> None:
    known = built(raw)
    cycles = plan(known.values(), known).cycles
    members = [number for cycle in cycles for number in cycle]
    assert len(members) == len(set(members))
    for cycle in cycles:
        assert cycle[0] == min(cycle)
        for number, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            assert known[number].state == "open" and following in known[number].depends_on


@given(things_strategy, st.randoms(use_true_random=False))
def test_the_order_in_which_things_are_told_does_not_matter(
    raw: dict[int, tuple[bool, State, list[int]]], random: object
) -> None:
    known = list(built(raw).values())
    made: Plan = plan(known, raw)
    random.shuffle(known)  # type: ignore[attr-defined]
    assert plan(known, set(raw)) == made


@given(things_strategy, numbers)
def test_what_is_done_makes_nothing_wait(raw: dict[int, tuple[bool, State, list[int]]], number: int) -> None:
    known = built(raw)
    if number in known:
        before = set(plan(known.values(), known).ready) - {number}
        state: State = "merged" if known[number].is_pull else "closed"
        known[number] = replace(known[number], state=state)
        assert before <= set(plan(known.values(), known).ready)
