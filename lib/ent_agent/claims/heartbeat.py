"""What keeps a claim while the agent runs, and stops the run when it must.

Each beat looks at origin: an issue that is no longer ours, or finished, cancels the run.
A renewal publishes the run's own tracker changes with it, never without the claim.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ent_agent.claims import standing
from ent_agent.claims.claim_value import RENEWAL_SECONDS
from ent_agent.claims.claims import Claim, ClaimLost
from ent_agent.config import Config
from ent_agent.finalization import joining, tracker_line
from ent_agent.records import EndedBy
from ent_agent.repositories import looking, pushing, repositories
from ent_agent.repositories.pushing import Update
from ent_agent.running.runs import Run
from ent_agent.selection import attempts
from harness.config import seconds
from harness.diagnostics import say
from harness.errors import BadData, TryLater
from harness.git import Git, GitFailed


@dataclass
class Heartbeat:
    """Beats while `watch` is called: the first time at once."""

    claim: Claim
    config: Config
    why: str = ""
    """Why the run was stopped, for people."""
    _next_look: float = field(default_factory=time.monotonic)
    _next_renewal: float = field(default_factory=time.monotonic)

    def watch(self) -> EndedBy | None:
        """Why the run must stop now; None: it may go on. Quick when nothing is due."""
        if self.claim.left_seconds() <= 0:
            self.why = "the claim could not be renewed in time"
            return "claim_lost"
        if time.monotonic() < self._next_look:
            return None
        try:
            return self._look()
        except ClaimLost as lost:
            self.why = lost.message
            return "claim_lost"
        except TryLater as failure:
            say(f"issue {self._run.issue}: no heartbeat: {failure.message}; trying again")
            return None
        finally:
            pause = min(seconds(self.config.loop.interval), RENEWAL_SECONDS)
            self._next_look = time.monotonic() + pause

    @property
    def _run(self) -> Run:
        return self.claim.run

    @property
    def _git(self) -> Git:
        return self.claim.git

    def _look(self) -> EndedBy | None:
        tip = self._origin_tip()
        self.why = standing.not_ours(self.config, self._git, tip, self._run.issue)
        if self.why:
            return "cancelled"
        assert tip
        if time.monotonic() >= self._next_renewal:
            self._renew(tip)
            self._next_renewal = time.monotonic() + RENEWAL_SECONDS
        return None

    def _origin_tip(self) -> str | None:
        """origin's data commit, fetched; and the claim as it stands there is one of ours."""
        tracking = f"{repositories.REMOTE}{self.config.issues_branch}"
        refs = [self.config.data_ref, *([self._run.claim_ref] if self._run.claim_ref else [])]
        there = pushing.there(self.config, self._git, *refs, timeout_seconds=self.claim.patience())
        if self._run.claim_ref and there.get(self._run.claim_ref) not in self._run.claim_oids:
            raise ClaimLost(f"another run has the claim on issue {self._run.issue}")
        tip = there.get(self.config.data_ref)
        if tip and tip != self._git.resolve(tracking):
            looking.fetch(self.config, self._git, f"+{self.config.data_ref}:{tracking}")
            tip = self._git.resolve(tracking)
        return tip

    def _renew(self, tip: str) -> None:
        """Renew, with what there is to publish; when that is refused, at least renew."""
        try:
            line = tracker_line.advance(self.config, self._git, self._run).commit
        except (GitFailed, BadData) as failure:  # what an agent wrote must not end its claim
            say(f"issue {self._run.issue}: what the agent wrote to the tracker: {failure.message}")
            line = self._run.tracker_line or self._run.tracker_start
        merged = joining.join(self.config, self._git, line, tip, self._run.issue).commit
        if merged != tip:
            before, after = (
                standing.issue_tree(self._git, commit, self._run.issue) for commit in (tip, merged)
            )
            attempts.note_publication(self.config, self._run.issue, before=before, after=after)
            if self.claim.renew(Update(self.config.data_ref, merged)):
                return
        self.claim.renew()
