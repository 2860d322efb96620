"""The status as tables for a person on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ent_agent.loop.progress import duration, short_ids
from ent_agent.records import Usage
from ent_agent.status.status import PastRun, Status
from harness.plain import plain

OUTCOME_STYLES = {"completed": "green", "stuck": "yellow", "cancelled": "dim"}


def show(status: Status, console: Console) -> None:
    console.print(Group(*_parts(status)))


def _parts(status: Status) -> Iterator[RenderableType]:
    yield Text(_headline(status))
    if status.stop:
        yield Text(plain(status.stop), style="yellow")
    tasks = _table("Tasks", "issue", "state", "attempts", "title", "now")
    for task in status.tasks:
        now = (
            Text("ready", style="green")
            if task.ready
            else Text(plain(short_ids(task.reason)), style="yellow")
        )
        tasks.add_row(task.id[:8], task.state, str(task.attempts), Text(plain(task.title)), now)
    waiting = _table("Waiting for people", "issue", "state", "title", "waits for")
    for one in status.waiting:
        who = Text(plain(one.waits_for or "nobody is assigned"), style="cyan")
        waiting.add_row(one.id[:8], one.state, Text(plain(one.title)), who)
    past = _table("Last runs", "issue", "started", "took", "outcome", "tokens", "cost", "what came of it")
    for run in status.runs:
        past.add_row(*_run(run))
    for table, nothing in (
        (tasks, "No tasks: nothing open is assigned to the agent."),
        (waiting, ""),
        (past, ""),
    ):
        if table.row_count:
            yield table
        elif nothing:
            yield Text(nothing)


def _headline(status: Status) -> str:
    loop = "a loop is at work" if status.loop_at_work else "no loop is at work"
    if status.repository is None:
        return f"{status.agent}: never synced; `ent-agent-sync` does it ({loop})"
    return f"{status.agent} on {status.repository.url}, as of {status.repository.fetched_at} ({loop})"


def _run(run: PastRun) -> tuple[str | Text, ...]:
    outcome = "at work" if run.at_work else run.outcome or "not finished"
    came = ", ".join(
        part for part in (plain(run.reason), f"to {plain(run.handed_to)}" if run.handed_to else "") if part
    )
    return (
        run.issue[:8],
        run.started_at[:16].replace("T", " "),
        "" if run.seconds is None else duration(run.seconds),
        Text(outcome, style=OUTCOME_STYLES.get(outcome, "bold" if run.at_work else "red")),
        _tokens(run.usage),
        "" if run.usage.cost_usd is None else f"{run.usage.cost_usd:.2f} USD",
        Text(came),
    )


def _tokens(usage: Usage) -> str:
    """Input (all of it) and output: "12k + 340"."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    taken = (usage.input_tokens or 0) + (usage.cached_tokens or 0)
    return f"{_short(taken)} + {_short(usage.output_tokens or 0)}"


def _short(count: int) -> str:
    return str(count) if count < 10_000 else f"{count // 1000}k"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", header_style="dim")
    return table
