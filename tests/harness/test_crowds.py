"""Too many new files, and the folder that they are in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.worktrees.crowds import crowded, without


def files(folder: str, count: int) -> list[bytes]:
    return [f"{folder}{number}".encode() for number in range(count)]


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (files("src/", 10), {}),
        ([*files("src/", 3), *files("web/node_modules/a/", 8), *files("web/node_modules/b/", 8)], {b"web/node_modules": 16}),
        ([*files("a/", 11), *files("b/c/", 12), *files("", 2)], {b"a": 11, b"b/c": 12}),
        ([*files("a/", 6), *files("b/", 6)], {b".": 12}),
        (files("", 11), {b".": 11}),
        ([*files("web/", 4), *files("web/deep/", 11)], {b"web/deep": 11}),
    ],
)  # fmt: skip
def test_the_deepest_folder_that_is_too_many_by_itself(paths: list[bytes], found: dict[bytes, int]) -> None:
    assert crowded(paths, 10) == found


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), max_size=60), st.integers(1, 20))
def test_never_more_than_the_limit_are_left_and_nothing_is_left_out_without_need(
    drawn: list[list[str]], limit: int
) -> None:
    paths = [f"{'/'.join(parts)}/{number}".encode() for number, parts in enumerate(drawn)]
    found = crowded(paths, limit)
    left = list(without(paths, found))
    assert len(left) <= limit
    assert bool(found) == (len(paths) > limit)
    assert len(left) + sum(found.values()) == len(paths)
