"""What docs/fordjent.md says of the memory."""

from __future__ import annotations

import re

from fordjent.memory.entries import Entry
from fordjent.memory.journal import LARGEST_BYTES, OLDER
from fordjent.memory.naming import BRANCH, path_of
from fordjent.memory.recall import RUNS
from tests.support.server import ROOT

SECTION = (ROOT / "docs/fordjent.md").read_text("utf-8").split("\n## Memory\n", 1)[1].split("\n## ", 1)[0]


def test_every_field_of_a_line_is_told() -> None:
    first_cells = [row.split("|")[1] for row in SECTION.splitlines() if row.startswith("| `")]
    assert re.findall(r"`(\w+)`", "".join(first_cells)) == list(Entry.__struct_fields__)


def test_numbers_and_names_are_those_of_the_code() -> None:
    assert (LARGEST_BYTES, OLDER, RUNS) == (4 * 1024 * 1024, 4, 10)
    assert "At 4 MiB" in SECTION and "four older" in SECTION and "last ten runs" in SECTION
    assert f"`{BRANCH}`" in SECTION and f"`{path_of('docs/issues', 42)}`" in SECTION
