"""Tell the user's own command, `[notify] command`, what needs a person: one record on its stdin."""

from __future__ import annotations

from typing import Literal

import msgspec

from ent_agent import records, state
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.running import runs
from ent_agent.running.runs import Run
from ent_agent.selection import attempts
from harness import lock, process
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import Missing

TIMEOUT_SECONDS = 30.0

Kind = Literal["login_needed", "quota", "handed_over"]
CAUSES: dict[str, attempts.PauseKind] = {"login_needed": "auth", "quota": "quota"}
"""Notices that several runs in a row would send."""


def send(config: Config, run: Run, record: Record) -> None:
    """Send the run's notice, when there is one. Its failing is said, and stops nothing.

    That a login or quota is wanting is told once, not again at each try until it is there.
    After kill -9 a notice may be sent twice, never not at all.
    """
    if not run.notice:
        return
    cause = CAUSES.get(run.notice)
    if config.notify.command and cause not in attempts.of_agent(config).told:
        _call(config, msgspec.json.decode(records.encode(record)) | {"notice": run.notice})
        reached("notified")
        if cause:
            attempts.note_told(config, cause)
    runs.update(config, run, notice="")


def send_late(config: Config) -> None:
    """Send what a kill between the end of a run and its notice held back."""
    places = state.of(config)
    for run in runs.every(config):
        if run.phase == "finalized" and run.notice and lock.is_free(places.issue_lock(run.issue)):
            send(config, run, runs.record(run))


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
