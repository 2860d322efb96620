"""docs/contract.md says what the code does: fields, outcomes, exit codes, events."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from ent_agent import records
from ent_agent.records import Record
from ent_agent.status import status
from ent_agent.tracker.model import STATES
from harness import errors

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = (ROOT / "docs/contract.md").read_text("utf-8")
SECTIONS = [name for name in Record.__struct_fields__ if name not in ("schema_version", "skipped")]


def part(heading: str) -> str:
    """The text below a heading, up to the next."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", CONTRACT, re.MULTILINE | re.DOTALL)
    assert found, f"docs/contract.md has no heading {heading}"
    return found[1]


def named(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", text))


def first_column(text: str) -> set[str]:
    return {
        name for line in text.splitlines() if line.startswith("| `") for name in named(line.split("|")[1])
    }


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_of_a_section_is_documented_and_no_other(section: str) -> None:
    kind = next(kind for kind in get_args(hints()[section]) if kind is not type(None))
    assert first_column(part(section)) == set(kind.__struct_fields__)


def hints() -> dict[str, type]:
    return {field.name: field.type for field in msgspec.structs.fields(Record)}


def test_every_section_has_a_heading_in_order() -> None:
    headings = re.findall(r"^### (\w+)$", CONTRACT, re.MULTILINE)
    assert headings == list(Record.__struct_fields__)


@pytest.mark.parametrize(
    ("section", "values"),
    [
        ("result", get_args(records.Outcome)),
        ("run", get_args(records.EndedBy)),
        ("issue", STATES),
        ("run", ("success", "error", "turn_limit", "quota", "auth")),
        ("run", records.Usage.__struct_fields__),
    ],
)
def test_every_value_is_documented(section: str, values: tuple[str, ...]) -> None:
    assert set(values) <= named(part(section))


def test_the_exit_code_table_is_that_of_the_errors() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", part("Exit codes"), re.MULTILINE)
    codes = {name: value for name, value in vars(errors).items() if name.startswith("EX_")}
    assert {name: int(code) for code, name in rows} == codes


def test_every_failure_has_one_of_these_exit_codes() -> None:
    codes = {value for name, value in vars(errors).items() if name.startswith("EX_")}

    def every(kind: type[errors.Failure]) -> list[type[errors.Failure]]:
        return [kind, *(below for one in kind.__subclasses__() for below in every(one))]

    assert {kind.exit_code for kind in every(errors.Failure)} <= codes - {0}


def test_every_event_of_the_loop_is_documented() -> None:
    code = "".join(path.read_text("utf-8") for path in (ROOT / "lib/ent_agent/loop").glob("*.py"))
    events = set(re.findall(r"\.say\(\s*\"(\w+)\"", code))
    assert len(events) > 8
    assert events == first_column(part("Progress of the loop"))


@pytest.mark.parametrize("kind", [status.Status, status.Task, status.Waiting, status.PastRun])
def test_every_field_of_the_status_is_documented(kind: type[msgspec.Struct]) -> None:
    assert set(kind.__struct_fields__) <= named(part("Status"))


def test_the_steps_need_what_the_table_says() -> None:
    from ent_agent.commands import finalize, identity, run, select, sync, worktree

    table = part("Records")
    steps = (identity.Identity, sync.Sync, select.Select, worktree.Worktree, run.Run, finalize.Finalize)
    for kind in steps:
        row = next(line for line in table.splitlines() if line.startswith(f"| `{kind.PROGNAME}`"))
        assert named(row.split("|")[2]) == set(kind.needs)
