"""What the pages show, from the state folder; nothing here talks to origin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from ent_agent.config import Config
from ent_agent.finalization import secrecy
from ent_agent.running import runs, workplace
from ent_agent.status import status
from ent_agent.status.status import PastRun, Status
from harness.pages.plots import Bar, Share

RUNS = 500
DAYS = 30
TAIL_BYTES = 256 * 1024
KINDS = {"completed": "completed", "stuck": "blocked", "cancelled": "created", "": "working"}
"""Colours of outcomes, by those of states; all others are failures."""


class Overview(msgspec.Struct):
    """`days`: US dollars of the last thirty, as far as the agents told; `outcomes`: of the runs shown."""

    status: Status
    days: list[Bar]
    cost_usd: float
    input_tokens: int
    output_tokens: int
    outcomes: dict[str, int]

    @property
    def shares(self) -> list[Share]:
        return [Share(kind_of(outcome), count) for outcome, count in self.outcomes.items()]


class Printed(msgspec.Struct):
    """The end of one file of a run: redacted. `left_out_bytes`: before it."""

    label: str
    text: str
    left_out_bytes: int


def overview(config: Config) -> Overview:
    found = status.gather(config, RUNS)
    outcomes: dict[str, int] = {}
    for run in found.runs:
        outcomes[run.outcome] = outcomes.get(run.outcome, 0) + 1
    usages = [run.usage for run in found.runs]
    return Overview(
        status=found,
        days=_days(found.runs),
        cost_usd=sum(one.cost_usd or 0.0 for one in usages),
        input_tokens=sum((one.input_tokens or 0) + (one.cached_tokens or 0) for one in usages),
        output_tokens=sum(one.output_tokens or 0 for one in usages),
        outcomes=outcomes,
    )


def run(config: Config, run_id: str) -> tuple[PastRun, list[Printed]] | None:
    """A run and what it printed; None: there is none of that id."""
    found = runs.find(config, run_id)
    if found is None:
        return None
    folder = workplace.folder(config, found)
    files = (("setup", folder.setup), ("output", folder.stdout), ("errors", folder.stderr))
    redact = secrecy.redactor(config).redact
    printed = [_tail(label, path) for label, path in files if path.is_file()]
    for one in printed:
        one.text = redact(one.text)
    return status.past(config, found), [one for one in printed if one.text]


def kind_of(outcome: str) -> str:
    return KINDS.get(outcome, "failed")


def _tail(label: str, path: Path) -> Printed:
    """From the beginning of a line on: half a line could hold half a secret, which would not be found."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        data = file.read(TAIL_BYTES)
    if size > TAIL_BYTES:
        data = data.partition(b"\n")[2]
    return Printed(label, data.decode("utf-8", "replace"), size - len(data) if size > TAIL_BYTES else 0)


def _days(past: list[PastRun]) -> list[Bar]:
    today = datetime.now(UTC).date()
    costs = {(today - timedelta(days=ago)).isoformat(): 0.0 for ago in reversed(range(DAYS))}
    for one in past:
        day = one.started_at[:10]
        if day in costs:
            costs[day] += one.usage.cost_usd or 0.0
    return [Bar(day, cost) for day, cost in costs.items()]
