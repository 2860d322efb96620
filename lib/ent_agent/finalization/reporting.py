"""Gathers what a hand-back tells, from the run, the branch and the tracker as origin has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from ent_agent.config import Config
from ent_agent.finalization import handback
from ent_agent.finalization.handback import HandBack, Report
from ent_agent.finalization.outcome import Verdict
from ent_agent.finalization.publication import Placed
from ent_agent.finalization.saving import Saved
from ent_agent.records import Record
from ent_agent.repositories import repositories
from ent_agent.selection import attempts, people
from ent_agent.tracker.reader import Tracker
from harness import agent_output
from harness.errors import BadData
from harness.git import Git
from harness.redaction import Redactor

TRANSCRIPT_BYTES = 262144
"""Redacted before it is cut to what is shown, so that no half secret stays at the cut."""


@dataclass(frozen=True)
class Reporter:
    """Plans a run's hand-back for wherever its branch comes to be."""

    config: Config
    git: Git
    record: Record
    saved: Saved
    verdict: Verdict
    redactor: Redactor

    def plan(self, placed: Placed) -> HandBack | None:
        """The hand-back, without secrets; None: the issue stays as it is."""
        planned = handback.plan(self.report(placed))
        if planned is None:
            return None
        return msgspec.structs.replace(planned, comment=self.redactor.redact(planned.comment))

    def report(self, placed: Placed) -> Report:
        assert self.record.issue and self.record.worktree
        worktree, line = self.record.worktree, self.saved.line
        reviewer, handler, history = self._people()
        base = f"{repositories.REMOTE}{worktree.base}"
        commits, numbers = self._size(base, placed.tip)
        chosen = line.assignee if line and line.changed_assignee else None
        return Report(
            verdict=self.verdict,
            issue=self.record.issue.id,
            branch=worktree.branch,
            base=worktree.base,
            attempts=attempts.of_issue(self.config, self.record.issue.id).failed_attempts,
            max_attempts=self.config.limits.max_attempts,
            commits=commits,
            numbers=numbers,
            is_pushed=placed.tip is not None,
            run=self.record.run,
            said=bool(line and line.comments),
            chosen=people.chosen(chosen, self.config, history),
            reviewer=reviewer,
            handler=handler,
            withheld=self.saved.withheld,
            kept=(*self.saved.kept, *placed.kept),
            kept_why=self._why_kept(placed),
            dropped=line.dropped if line else (),
            transcript_tail=self._tail(),
        )

    def _people(self) -> tuple[str | None, str | None, list[people.Assignment]]:
        """Reviewer and handler by the tracker as it is now; by the record where that cannot be read."""
        assert self.record.issue
        issue = self.record.issue
        data = self.git.resolve(f"{repositories.REMOTE}{self.config.issues_branch}")
        if data is None:
            return issue.reviewer, issue.handler, []
        history = people.assignments(self.git, data)
        try:
            found = Tracker(self.git, data).issue(issue.id)
        except BadData:
            return issue.reviewer, issue.handler, history
        return *people.reviewer_and_handler(found, self.config, history), history

    def _size(self, base: str, tip: str | None) -> tuple[int, str]:
        """Commits that the base does not have, and the difference in numbers."""
        if tip is None or self.git.resolve(base) is None:
            return 0, ""
        count = int(self.git.text("rev-list", "--count", tip, "--not", base))
        words = ("diff", "--shortstat", "--no-ext-diff", "--no-textconv", f"{base}...{tip}")
        return count, self.git.run(*words, check=False).text.strip()

    def _why_kept(self, placed: Placed) -> str:
        if placed.kept:
            return "a person pushed to the branch during the run, and the run's commits conflict with that"
        return self.saved.kept_why

    def _tail(self) -> str:
        run = self.record.run
        if not (self.verdict.counts and run and run.transcript):
            return ""
        text = agent_output.end(Path(run.transcript), TRANSCRIPT_BYTES)
        return self.redactor.tail(text, handback.SHOWN_CHARACTERS)
