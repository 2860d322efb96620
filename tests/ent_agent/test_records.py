"""Records keep what is not theirs to know, and the schema is level with them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from ent_agent import records, schema
from ent_agent.records import AgentSection, ErrorSection, Record
from harness.errors import BadData

DOCS = Path(__file__).resolve().parents[2] / "docs"


def decoded(line: bytes) -> dict[str, object]:
    parsed: dict[str, object] = json.loads(line)
    return parsed


def test_a_record_is_one_line() -> None:
    record = Record(agent=AgentSection(id="robo", name="two\nlines", email="x"))
    line = records.encode(record)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert records.decode(line) == record


def test_what_is_not_set_is_left_out() -> None:
    assert decoded(records.encode(Record())) == {"schema_version": 1}


def test_a_copy_keeps_what_came_in() -> None:
    came = records.decode(
        b'{"schema_version":1,"extra":{"a":1},"agent":{"id":"r","name":"n","email":"e","x":2}}'
    )
    for record in (copy.copy(came), records.derive(came, skipped="why")):
        out = decoded(records.encode(record))
        assert out["extra"] == {"a": 1}
        assert out["agent"] == {"id": "r", "name": "n", "email": "e", "x": 2, "aliases": []}
    assert came.skipped is None


def test_a_section_that_is_taken_away_does_not_come_back() -> None:
    record = records.decode(b'{"error":{"code":"c","message":"m"},"skipped":"why"}')
    record.error = None
    record.skipped = None
    assert decoded(records.encode(record)) == {"schema_version": 1}


def test_an_unknown_field_of_a_changed_section_stays() -> None:
    record = records.decode(b'{"error":{"code":"c","message":"m","ticket":7}}')
    record.error = ErrorSection(code="d", message="n")
    assert decoded(records.encode(record))["error"]["ticket"] == 7  # type: ignore[index]


def test_list_items_belong_together_by_their_id_and_not_by_place() -> None:
    def comment(name: str, **more: str) -> dict[str, str]:
        return {"id": name, "author": "a", "creation_time": "t", "description": "d"} | more

    issue = {"id": "1", "title": "", "description": "", "state": "new"}
    came = {"issue": issue | {"comments": [comment("x", mark="of x"), comment("y")]}}
    record = records.decode(json.dumps(came).encode())
    assert record.issue
    record.issue.comments.reverse()
    out = json.loads(records.encode(record))["issue"]["comments"]
    assert [(one["id"], one.get("mark")) for one in out] == [("y", None), ("x", "of x")]


@pytest.mark.parametrize("line", [b"", b"null", b"1", b'"x"', b"{", b'{"agent": 1}', b"\xff\xfe"])
def test_what_is_no_record_is_bad_data(line: bytes) -> None:
    with pytest.raises(BadData, match="not a record"):
        records.decode(line)


def test_a_later_schema_is_refused() -> None:
    with pytest.raises(BadData, match="schema_version 2"):
        records.decode(b'{"schema_version": 2}')


def test_the_schema_is_level_with_the_types() -> None:
    written = (DOCS / "record.schema.json").read_text(encoding="utf-8")
    assert written == schema.text(), "docs/record.schema.json is stale; write it with `invoke schema`"
