"""From a chosen issue to a run that an agent can be started for: worktree, claim, state, attempt.

Each effect is repeatable: after kill -9 between any two of them the next start takes up
the same run, and comes to the same end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ent_agent.claims.claims import Claim
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.repositories import repositories
from ent_agent.repositories.repositories import REMOTE
from ent_agent.running import runs
from ent_agent.running.runs import Run
from ent_agent.selection import attempts, people, selection
from ent_agent.tracker import writer
from ent_agent.tracker.reader import Tracker
from ent_agent.tracker.writer import SetState
from ent_agent.worktrees import worktree
from harness import sweeping
from harness.effects import reached
from harness.errors import BadData, Busy, Failure, TryLater
from harness.git import Git


def start(record: Record, config: Config) -> Record:
    """Prepare the worktree and claim the issue; adds `worktree` and `claim`.

    state inprogress is written to the run's private line, and published with the first
    renewal of the claim. The attempt is counted. The caller holds the issue's lock.

    Raises:
        Busy: somebody else has the issue or its branch; or it is not ours any more.
        TryLater: origin's answer was not seen, or an earlier run must be finalized first.
        BadConfig: as `worktree.prepare`.
    """
    assert record.issue
    return _Start(config, repositories.control(config), record.issue.id).work(record)


@dataclass
class _Start:
    config: Config
    git: Git
    issue: str

    def work(self, record: Record) -> Record:
        begun = self._begun()
        worktree.prepare(record, self.config)
        run = begun or runs.create(self.config, self.issue)
        reached("run-created")
        claim = self._claim(run)
        try:
            if self._has_moved(record):
                worktree.prepare(record, self.config)
            self._write_in_progress(run)
            self._describe(record, run)
        except Failure:
            attempts.give_back(self.config, self.issue, run.id)
            claim.release()
            runs.update(self.config, run, phase="finalized")
            raise
        record.claim = claim.section()
        runs.update(self.config, run, record)
        reached("run-started")
        return record

    def _begun(self) -> Run | None:
        """An earlier run of the issue whose agent was never started; what carries its marker is ended.

        Raises:
            TryLater: one whose agent was.
        """
        dead = [
            one for one in runs.every(self.config) if one.issue == self.issue and one.phase != "finalized"
        ]
        for one in dead:
            sweeping.sweep(one.id)
            if one.phase not in ("claiming", "claimed"):
                raise TryLater(
                    f"run {one.id} of issue {self.issue} has not been finished",
                    hint="ent-agent-finalize --pending finishes it",
                    code="not_finalized",
                )
        return dead[-1] if dead else None

    def _claim(self, run: Run) -> Claim:
        try:
            claim = Claim.take(self.config, self.git, self.issue, run)
        except Busy:
            runs.update(self.config, run, phase="finalized")
            raise
        reached("run-claimed")
        return claim

    def _has_moved(self, record: Record) -> bool:
        """Whether the claim's own fetch brought another head of the branch or its base."""
        assert record.worktree
        there = self.git.resolve(f"{REMOTE}{record.worktree.branch}") or ""
        return there != record.worktree.remote_head

    def _write_in_progress(self, run: Run) -> None:
        """The run's private line: origin's tracker with the issue in progress."""
        changes = [SetState(self.issue, "inprogress")]
        commit = writer.commit(self.git, run.tracker_origin, changes, sign=self.config.sign_commits)
        runs.update(self.config, run, tracker_start=commit)
        with repositories.locked(self.config):
            self.git.update_refs([(run.line_ref, commit)])
        reached("run-in-progress")

    def _describe(self, record: Record, run: Run) -> None:
        """The issue as origin has it now, and its attempt counted."""
        tracker = Tracker(self.git, run.tracker_origin)
        tree = next((one.tree for one in tracker.summaries() if one.id == self.issue), "")
        failures = attempts.count_attempt(self.config, self.issue, run.id, tree, time.time())
        reached("run-counted")
        try:
            found = tracker.issue(self.issue)
        except BadData:  # since the choice a person broke it; the run goes on with what was read
            return
        history = people.assignments(self.git, run.tracker_origin)
        record.issue = selection.section(found, self.config, history, failures)
