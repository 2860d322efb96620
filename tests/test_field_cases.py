"""docs/field-cases.md has a row for every case that applies, and names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs/field-cases.md"

UNUSED = {
    6,
    11,
    17,
    20,
    26,
    29,
    38,
    46,
    49,
    57,
    60,
    64,
    76,
    83,
    96,
    99,
    103,
    105,
    112,
    115,
    118,
    123,
    127,
    134,
    138,
    141,
    144,
    147,
}
"""Numbers that the list never gave."""
APPLY = {*range(1, 150)} - UNUSED


def rows() -> dict[int, str]:
    """Number to what holds it."""
    found = re.findall(r"^\| (\d+) \| .*? \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return {int(number): cell for number, cell in found}


def named_tests() -> set[str]:
    return {name for cell in rows().values() for name in re.findall(r"`([^`]+::[^`]+)`", cell)}


def existing_tests() -> set[str]:
    found = set()
    for path in TESTS.rglob("*.py"):
        names = re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
        found |= {f"{path.relative_to(TESTS)}::{name}" for name in names}
    for path in TESTS.rglob("*.bats"):
        titles = re.findall(r'^@test "(.+)" \{$', path.read_text("utf-8"), re.MULTILINE)
        found |= {f"{path.relative_to(TESTS)}::{title}" for title in titles}
    return found


def test_every_case_that_applies_has_its_row() -> None:
    assert set(rows()) == APPLY


def test_every_test_that_is_named_is_there() -> None:
    assert named_tests() - existing_tests() == set()


def test_a_row_names_a_test_or_says_why_not() -> None:
    assert [number for number, cell in rows().items() if "::" not in cell and "no test: " not in cell] == []
