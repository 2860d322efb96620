"""Tell the user's own command, `[notify] command`, what needs a person: one record on its stdin."""

from __future__ import annotations

from typing import Literal

import msgspec
from harness import process
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import Missing

from ent_agent import records, runs
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.runs import Run

TIMEOUT_SECONDS = 30.0

Kind = Literal["login_needed", "quota", "handed_over"]


def send(config: Config, run: Run, record: Record) -> None:
    """Send the run's notice, when there is one. Its failing is said, and stops nothing.

    After kill -9 it may be sent twice, never not at all.
    """
    if not run.notice:
        return
    if config.notify.command:
        _call(config, msgspec.json.decode(records.encode(record)) | {"notice": run.notice})
        reached("notified")
    runs.update(config, run, notice="")


def _call(config: Config, message: dict[str, object]) -> None:
    try:
        finished = process.run(
            config.notify.command,
            cwd=config.path.parent,
            stdin=msgspec.json.encode(message) + b"\n",
            timeout_seconds=TIMEOUT_SECONDS,
        )
    except (Missing, OSError) as error:
        say(f"notify.command: {error}")
        return
    if not finished.ok:
        why = "ended by its time limit" if finished.timed_out else f"exit {finished.exit_code}"
        say(f"notify.command: {why} {finished.error_text}".rstrip())
