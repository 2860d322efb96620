"""The JSON Schema of the records, made from their types: docs/record.schema.json."""

from __future__ import annotations

import json

import msgspec

from ent_agent.records import Record


def text() -> str:
    """The schema as the file has it."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One line of ent-agent's pipeline",
        **msgspec.json.schema(Record),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
