"""Merges of random histories on three replicas: in memory, and on real git.

`MERGE_EXAMPLES=4000 pytest tests/ent_agent/tracker/test_merge_properties.py` tries more.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.histories import GitHistory, History, MemoryHistory
from tests.support.replicas import ISSUES, Replicas

EXAMPLES = int(os.environ.get("MERGE_EXAMPLES", "80"))
GIT_EXAMPLES = max(EXAMPLES // 15, 1)
SEED = int(os.environ.get("MERGE_SEED", "0"))

KINDS = """state state assignee unassign description description tags tags dependencies done_time comment comment
    comment|edit comment|edit comment|removal attachment attached|folder no|attachment delete|issue new|issue
    top|file top|file top|removal top|issue"""
WELL_FORMED = [kind.replace("|", " ") for kind in KINDS.split()]
MALFORMED = [*WELL_FORMED, "malformed", "malformed", "no description"]

Step = tuple[str, int, int, bool] | tuple[str, int, int, str, str, int]


def steps(kinds: list[str]) -> st.SearchStrategy[list[Step]]:
    replica = st.integers(0, 2)
    edit = st.tuples(
        st.just("edit"),
        replica,
        st.integers(-50, 50),
        st.sampled_from(kinds),
        st.sampled_from(ISSUES),
        st.integers(0, 100),
    )
    sync = st.tuples(st.just("sync"), replica, replica, st.booleans())
    return st.lists(st.one_of(edit, edit, edit, sync), min_size=12, max_size=60)


tried = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 80,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@tried
@given(st.booleans(), steps(WELL_FORMED))
def test_replicas_agree_and_lose_nothing(related: bool, happened: list[Step]) -> None:
    play(Replicas(MemoryHistory(), related), happened)


@tried
@given(st.booleans(), steps(MALFORMED))
def test_malformed_entries_do_not_spoil_the_others(related: bool, happened: list[Step]) -> None:
    play(Replicas(MemoryHistory(), related, malformed=True), happened)


@pytest.mark.parametrize("kinds", [WELL_FORMED, MALFORMED], ids=["well-formed", "malformed"])
def test_long_histories_agree_and_lose_nothing(kinds: list[str]) -> None:
    for seed in range(SEED, SEED + EXAMPLES):
        chance = random.Random(seed)
        try:
            play(Replicas(MemoryHistory(), chance.random() < 0.7, kinds is MALFORMED), story(chance, kinds))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_long_histories_agree_on_real_git(place: Path) -> None:
    """The same on commits of git: its merge bases, its log as the clock; then it finds nothing to complain of."""
    for seed in range(SEED, SEED + GIT_EXAMPLES):
        chance = random.Random(seed)
        history = GitHistory.create(place / f"{seed}.git")
        replicas = Replicas(history, chance.random() < 0.7)
        try:
            play(replicas, story(chance, WELL_FORMED))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        history.git.update_ref("refs/heads/end", replicas.tips[0])
        assert history.git.run("fsck", "--strict", check=False).ok
        history.objects.close()


def story(chance: random.Random, kinds: list[str]) -> list[Step]:
    """What happens in a history of 10 to 80 steps, with few syncs or many."""
    told: list[Step] = []
    syncs = chance.choice((0.05, 0.15, 0.3, 0.5))
    for _ in range(chance.randrange(10, 80)):
        if chance.random() < syncs:
            told.append(("sync", *chance.sample(range(3), 2), chance.random() < 0.4))
        else:
            where = chance.randrange(3), chance.randrange(-50, 50)
            told.append(("edit", *where, chance.choice(kinds), chance.choice(ISSUES), chance.randrange(1000)))
    return told


def play(replicas: Replicas, happened: list[Step]) -> None:
    for kind, *about in happened:
        if kind == "edit":
            replicas.edit(*about)  # type: ignore[arg-type]
        elif about[0] != about[1]:
            replicas.sync(*about)  # type: ignore[arg-type]
    replicas.check()


def test_a_history_in_memory_is_a_history() -> None:
    history: History = MemoryHistory()
    first = history.commit("t", [], 1, "A <a>")
    one, other = (history.commit("t", [first], 2, "A <a>") for _ in range(2))
    assert history.bases(one, other) == [first]
