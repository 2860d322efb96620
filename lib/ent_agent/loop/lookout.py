"""A look at what there is to do: sync | select, and what is said of what is passed over.

Without records sync begins with the identity, as every step does: no process of its own for that.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Protocol

from ent_agent.cli import as_error
from ent_agent.config import Config
from ent_agent.loop import telling
from ent_agent.loop.passes import Pass
from ent_agent.loop.pipeline import Ran
from ent_agent.loop.progress import Progress
from ent_agent.records import Record
from ent_agent.running import workplace
from ent_agent.selection import selection
from harness import invocation
from harness.agent_environment import FALLBACK_PATH
from harness.errors import BadConfig, Missing


class RunStep(Protocol):
    def __call__(self, step: str, *options: str, feed: list[Record] | None = None) -> Ran: ...


class Stopped(Protocol):
    def __call__(self) -> bool: ...


@dataclass
class Lookout:
    """Looks again and again, and says what has changed since the last time."""

    config: Config
    progress: Progress
    run: RunStep
    stopped: Stopped
    _passed_over: dict[str, str] = field(default_factory=dict)
    _stop: str = ""
    _heads: tuple[str, str] = ("", "")
    _ready: list[str] = field(default_factory=list)

    def look(self, current: Pass, issue: str = "") -> list[Record]:
        """What is ready, in working order; `issue`: only this one. None when a step failed, which is said."""
        if not self._agent_can_start(current):
            return []
        records: list[Record] | None = None
        chosen = ["--issue", issue] if issue else []
        for step, options in (("sync", []), ("select", ["--all", *chosen])):
            ran = self.run(step, *options, feed=records)
            records = ran.records
            if self.stopped():
                return []
            for error in ran.errors or ([ran.error] if ran.error else []):
                telling.failed(self.progress, step, error)
                current.note_error(error)
            if ran.error or any(record.error for record in records):
                return []
            if step == "sync":
                self._say_synced(records)
        assert records is not None
        self._say_passed_over(records)
        found = [record for record in records if record.issue and not record.skipped]
        ids = [record.issue.id for record in found if record.issue]
        if ids and ids != self._ready:
            telling.ready(self.progress, ids)
        self._ready = ids
        return found

    def _say_synced(self, records: list[Record]) -> None:
        for repository in (record.repository for record in records):
            if repository and (repository.head, repository.issues_head) != self._heads:
                self._heads = (repository.head, repository.issues_head)
                telling.synced(self.progress, repository)

    def _agent_can_start(self, current: Pass) -> bool:
        """Whether the adapter loads, and its program is there: told now, not when an issue is claimed."""
        path = self.config.agent_environment.set.get("PATH") or os.environ.get("PATH") or FALLBACK_PATH
        try:
            adapter = workplace.load_adapter(self.config)
            invocation.program(adapter, adapter.command[0], path)
        except (BadConfig, Missing) as failure:
            error = as_error(failure)
            telling.failed(self.progress, "agent", error)
            current.note_error(error)
            return False
        return True

    def _say_passed_over(self, records: list[Record]) -> None:
        """What holds for all is said once, and not for each."""
        stop = selection.stop(self.config, time.time())
        if stop and stop != self._stop:
            self.progress.say("no_start", f"nothing is begun: {stop}")
        self._stop = stop
        before, self._passed_over = self._passed_over, {}
        for record in records:
            if record.issue and record.skipped:
                self._passed_over[record.issue.id] = record.skipped
                if record.skipped not in (stop, before.get(record.issue.id)):
                    telling.passed_over(self.progress, record)
