"""Merging: exactly the commit that was looked at, in a way that the repository allows, by policy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fordjent.config import Policy
from fordjent.forge.types import Repository
from fordjent.gates.merging import Merged, NotMerged, merge, style_of
from tests.support.forge.server import StandIn
from tests.support.proposals import REPOSITORY, Desk, desk


@pytest.fixture
def auto(place: Path, forge: StandIn) -> Iterator[Desk]:
    with desk(place, forge, policy=Policy(merge="auto")) as made:
        yield made


def pull(at: Desk, files: dict[str, str]) -> tuple[int, str]:
    head = at.alice.push(REPOSITORY, "feature", dict(files))
    return at.alice.open_pull(REPOSITORY, "feature", "A feature"), head


def test_it_is_merged_while_the_forge_still_looks(auto: Desk) -> None:
    number, head = pull(auto, {"c.txt": "c\n"})
    found = auto.run(merge(auto.context, REPOSITORY, number, head))
    assert isinstance(found, Merged) and found.style == "merge"
    again = auto.run(merge(auto.context, REPOSITORY, number, head))
    assert isinstance(again, Merged) and again.commit == found.commit


def test_a_conflict_is_told_as_one(auto: Desk) -> None:
    number, head = pull(auto, {"a.txt": "ours\n"})
    auto.alice.push(REPOSITORY, "main", {"a.txt": "theirs\n"})
    found = auto.run(merge(auto.context, REPOSITORY, number, head, patience_seconds=0.5))
    assert isinstance(found, NotMerged) and found.conflict


def test_a_head_that_moved_is_looked_at_again(auto: Desk) -> None:
    number, head = pull(auto, {"c.txt": "c\n"})
    auto.alice.push(REPOSITORY, "feature", {"d.txt": "d\n"})
    auto.forge.settle()
    found = auto.run(merge(auto.context, REPOSITORY, number, head))
    assert isinstance(found, NotMerged) and found.moved and not found.conflict
    assert not auto.alice.pull(REPOSITORY, number)["merged"]


def test_people_merge_unless_the_policy_says_otherwise(at: Desk) -> None:
    number, head = pull(at, {"c.txt": "c\n"})
    found = at.run(merge(at.context, REPOSITORY, number, head))
    assert isinstance(found, NotMerged) and "people merge" in found.reason


def test_one_that_is_not_there_is_no_crash(auto: Desk) -> None:
    assert isinstance(auto.run(merge(auto.context, REPOSITORY, 99)), NotMerged)


@pytest.mark.parametrize(
    ("allowed", "default", "asked", "expected"),
    [
        ("merge rebase squash", "merge", "", "merge"),
        ("rebase squash", "merge", "", "rebase"),
        ("squash", "squash", "merge", None),
        ("merge squash", "merge", "squash", "squash"),
        ("", "merge", "", None),
    ],
)
def test_the_style_is_one_that_the_repository_allows(
    allowed: str, default: str, asked: str, expected: str | None
) -> None:
    words = allowed.split()
    repository = Repository(
        full_name=REPOSITORY,
        default_merge_style=default,
        allow_merge_commits="merge" in words,
        allow_rebase="rebase" in words,
        allow_rebase_explicit="rebase-merge" in words,
        allow_squash_merge="squash" in words,
    )
    assert style_of(repository, asked) == expected
