"""The runs of this state folder on disk: what is needed to finish one after kill -9 anywhere.

A run's file, `runs/<run id>/run.json`, is written before each effect. Whether a run is
alive is told by its issue's lock, which every step holds while it works on the issue:
a run that is not finalized and whose lock is free is dead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from ent_agent import records, state
from ent_agent.config import Config
from ent_agent.finalization.outcome import Verdict
from ent_agent.records import Record
from harness import atomic, clock, lock
from harness.clock import Moment
from harness.errors import BadData
from harness.worktrees.leftovers import Withheld

Phase = Literal["claiming", "claimed", "running", "ran", "finalized"]


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a run as it was pushed, or about to be, in one go with the end of its claim."""

    data: str = ""
    """Commit of the data branch; "": nothing to publish there."""
    work: str = ""
    """Commit of the run's branch; "": it is on origin already, or not to be."""
    tip: str = ""
    """Where the branch is on origin with this; "": not pushed."""
    kept: list[str] = []
    """Refs of the commits for which a person's push to the branch left no place."""
    commits: list[str] = []
    """Those that origin did not have."""
    handed_back: bool = False
    handed_to: str | None = None
    comment: str | None = None
    not_ours: str = ""
    """Why nothing was handed back: what a person made of the issue."""


class Run(msgspec.Struct, kw_only=True):
    """One attempt on one issue, from before its claim until after its hand-back."""

    id: str
    issue: str
    phase: Phase = "claiming"
    created_at: str = ""
    claim_ref: str = ""
    """The claim's ref on origin; "": origin takes no such refs, and this host is the only one."""
    claim_oids: list[str] = []
    """Every value of the claim that this run pushed or was about to push."""
    claim_number: int = 0
    renewed: Moment | None = None
    """When the last good take or renewal was started: the lease counts from there."""
    tracker_origin: str = ""
    """origin's data commit when the claim was confirmed."""
    tracker_start: str = ""
    """Data commit that the agent begins at: `tracker_origin` with the loop's own changes (inprogress)."""
    tracker_line: str = ""
    """What is to be published of the agent's tracker changes; on top of `tracker_start`."""
    endings: list[Ending] = []
    verdict: Verdict | None = None
    """What came of the run: decided once, before anything of it is published."""
    withheld: list[Withheld] = []
    notice: str = ""
    """Kind of a notification that is still to be sent."""
    saved_at: int = 0
    """Time of the commit of left-overs, seconds since the epoch: fixed, so that a repetition makes the same one."""
    record: msgspec.Raw = msgspec.Raw(b"{}")
    """The record as the last step left it."""

    @property
    def line_ref(self) -> str:
        """The run's private line of the data branch in control.git, and the agent's in work.git."""
        return f"refs/ent-agent/runs/{self.id}"

    def agents_ref(self, what: str) -> str:
        """Where control.git has what was fetched of the agent's own refs, as it is."""
        return f"refs/ent-agent/agents/{self.id}/{what}"

    def kept_ref(self, what: str) -> str:
        """Where control.git keeps what could not be carried on."""
        return f"refs/ent-agent/kept/{self.id}/{what}"


def create(config: Config, issue_id: str) -> Run:
    """A new run of an issue, on disk."""
    run = Run(id=os.urandom(8).hex(), issue=issue_id, created_at=clock.timestamp())
    atomic.write_json(path(config, run.id), run)
    return run


def update(config: Config, run: Run, record: Record | None = None, **changes: object) -> None:
    """Change fields of a run (and its record), on disk and in `run`.

    Several parts of a step hold a `Run` each: what another of them wrote since is kept,
    and `run` shows it afterwards.
    """
    current = find(config, run.id) or run
    if record is not None:
        changes["record"] = msgspec.Raw(records.encode(record).strip())
    for name, value in changes.items():
        setattr(current, name, value)
    atomic.write_json(path(config, run.id), current)
    for name in Run.__struct_fields__:
        setattr(run, name, getattr(current, name))


def load(config: Config, run_id: str) -> Run:
    """
    Raises:
        BadData: there is no such run here.
    """
    run = find(config, run_id)
    if run is None:
        raise BadData(f"there is no run {run_id!r} in {state.of(config).runs}")
    return run


def find(config: Config, run_id: str) -> Run | None:
    """The run, when it is one of this state folder."""
    if not run_id.isalnum():
        return None
    return atomic.read_json(path(config, run_id), Run | None, None)  # type: ignore[arg-type]


def record(run: Run) -> Record:
    """The run's record as the last step left it."""
    return records.decode(bytes(run.record))


def every(config: Config) -> list[Run]:
    """All runs of this state folder, oldest first."""
    folder = state.of(config).runs
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    found = [run for run in (find(config, name) for name in names) if run]
    return sorted(found, key=lambda run: (run.created_at, run.id))


def named(found: Iterable[Run], issue: str) -> list[Run]:
    """Those of one issue, which an id or the beginning of one names; an id that is another's beginning is itself.

    Raises:
        BadData: it is the beginning of several.
    """
    matching = [run for run in found if run.issue.startswith(issue)]
    exact = [run for run in matching if run.issue == issue]
    issues = sorted({run.issue for run in exact or matching})
    if len(issues) > 1:
        raise BadData(f"{issue} is the beginning of several issues: {', '.join(issues)}")
    return exact or matching


def pending(config: Config) -> list[Run]:
    """Dead runs that were not finalized, oldest first."""
    folder = state.of(config)
    return [
        run
        for run in every(config)
        if run.phase != "finalized" and lock.is_free(folder.issue_lock(run.issue))
    ]


def unfinished(config: Config) -> bool:
    """Whether there is anything for `finalize --pending`: a run, alive or dead, or a notice that was not sent."""
    return any(run.phase != "finalized" or run.notice for run in every(config))


def last(config: Config, issue_id: str) -> Run | None:
    """The newest run of an issue."""
    return next((run for run in reversed(every(config)) if run.issue == issue_id), None)


def key(run: Run) -> str:
    """The run's issue as part of a ref or file name."""
    return state.key(run.issue)


def path(config: Config, run_id: str) -> Path:
    return state.of(config).run(run_id) / "run.json"
