"""Runs of the past as the steps leave them, for what only reads them."""

from __future__ import annotations

from typing import Any

from ent_agent.config import Config
from ent_agent.records import IssueSection, Record, ResultSection, RunSection, Usage
from ent_agent.running import runs, workplace
from ent_agent.running.runs import Run


def run(config: Config, issue: str, output: bytes = b"", **result: Any) -> Run:
    """A run that ended, with its output; `result` are fields of its result, none: not finalized."""
    made = runs.create(config, issue)
    places = workplace.folder(config, made)
    places.root.mkdir(parents=True, exist_ok=True)
    places.stdout.write_bytes(output)
    record = Record(
        issue=IssueSection(id=issue, title="A title [red]", description="", state="blocked"),
        run=RunSection(
            id=made.id,
            agent_type="demo",
            started_at="2026-01-02T03:04:05+00:00",
            ended_at="2026-01-02T03:06:50+00:00",
            exit_code=0,
            usage=Usage(input_tokens=12000, output_tokens=340, cost_usd=0.125),
            transcript=str(places.stdout),
        ),
        result=ResultSection(**result) if result else None,
    )
    runs.update(config, made, record, phase="finalized" if result else "ran")
    return made
