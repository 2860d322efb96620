"""The end of a run on origin: its branch, what it did to the tracker, the hand-back and the end of its claim.

All of it goes in one atomic push, or, where origin has none, the branch first, seen there,
and then the rest: a hand-back is never public before its branch. A refused push means that
origin moved: it is looked at again, and everything is built anew on what it has then.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ent_agent.claims import standing
from ent_agent.claims.claims import Claim, ClaimLost
from ent_agent.config import Config
from ent_agent.finalization import homecoming, joining
from ent_agent.finalization.handback import HandBack, changes
from ent_agent.repositories import looking, repositories
from ent_agent.repositories.pushing import Update
from ent_agent.repositories.repositories import NAMESPACE
from ent_agent.running import runs
from ent_agent.running.runs import Ending, Run
from ent_agent.selection import attempts
from ent_agent.tracker import writer
from ent_agent.tracker.model import Issue
from ent_agent.tracker.reader import Tracker
from harness.effects import reached
from harness.errors import BadData, TryLater
from harness.git import Git
from harness.worktrees import branches, outgoing, published

ROUNDS = 20
SAME_REFUSALS = 3


@dataclass(frozen=True)
class Placed:
    """A run's commits on top of what origin's branch is now. `tip` None: the branch is not pushed."""

    tip: str | None
    kept: tuple[str, ...] = ()
    """Refs of the commits for which a person's push to the branch left no place."""


@dataclass(frozen=True)
class Parcel:
    """What is to be published. `line`: the run's tracker line; `work` None: the branch is not pushed."""

    line: str
    branch: str
    base: str
    """Commit that work without a branch starts from."""
    work: str | None
    plan: Callable[[Placed], HandBack | None]
    """The hand-back for where the branch comes to be; None: the issue stays with the agent."""
    comment: str
    """Id of the hand-back's comment."""
    whosever: bool = False
    """Publish although the issue is not the agent's any more: a person asked for it."""


def publish(claim: Claim, parcel: Parcel, *, just_looked: bool = False) -> Ending:
    """Bring the parcel to origin and end the claim; repeatable after kill -9 at any point.

    `just_looked`: origin was fetched a moment ago.

    Raises:
        ClaimLost: another has the issue; nothing was published.
        TryLater: no answer, or origin refuses for another reason than that it moved.
    """
    config, git = claim.config, claim.git
    refusals: list[tuple[str | None, str | None]] = []
    for number in _rounds():
        if number or not just_looked:
            looking.look(config, git)
        over = reached_origin(config, git, claim.run, parcel.branch)
        if over:
            _end(claim)
            return over
        claim.see()
        view = _View(claim, parcel)
        ending = view.ending
        runs.update(config, claim.run, endings=[*claim.run.endings, ending])
        reached("ending-recorded")
        if claim.release(*view.updates):
            reached("ending-pushed")
            return ending
        refusals = [*(one for one in refusals if one == view.seen), view.seen]
        if len(refusals) >= SAME_REFUSALS and not claim.forgo_deletion():
            raise TryLater(
                f"origin refuses what is to be published, though nothing moved there: {claim.refusal}",
                hint="see that the agent's key may write, and look at origin's hooks and protected branches",
                code="push_refused",
            )
    raise TryLater(f"origin moved on {ROUNDS} times while {parcel.branch} was to be published")


def reached_origin(config: Config, git: Git, run: Run, branch: str) -> Ending | None:
    """The ending of the run that origin has, by the last fetch; None: none has arrived."""
    data, work = (git.resolve(ref) for ref in (_data_ref(config), _branch_ref(branch)))
    claim = git.resolve(repositories.SEEN_CLAIMS + runs.key(run)) if run.claim_ref else None
    for ending in run.endings:
        parts = [(ending.data, data), (ending.work, work)]
        if any(part for part, _ in parts):
            if all(not part or (there and git.is_ancestor(part, there)) for part, there in parts):
                return ending
        elif claim not in run.claim_oids:
            return ending
    return None


def _end(claim: Claim) -> None:
    """End a claim whose run is published already; where it is gone, all the better."""
    try:
        claim.see()
    except ClaimLost:
        return
    claim.release()


@dataclass(frozen=True)
class _View:
    """What would be pushed, on top of what origin had at the last fetch."""

    claim: Claim
    parcel: Parcel

    @property
    def config(self) -> Config:
        return self.claim.config

    @property
    def git(self) -> Git:
        return self.claim.git

    @property
    def issue_id(self) -> str:
        return self.claim.run.issue

    @cached_property
    def data(self) -> str | None:
        return self.git.resolve(_data_ref(self.config))

    @cached_property
    def remote(self) -> str | None:
        """Where origin's branch is."""
        return self.git.resolve(_branch_ref(self.parcel.branch))

    @property
    def seen(self) -> tuple[str | None, str | None]:
        return self.data, self.remote

    @cached_property
    def not_ours(self) -> str:
        """Why nothing may be handed back."""
        if self.parcel.whosever:
            return ""
        return standing.not_ours(self.config, self.git, self.data, self.issue_id)

    @cached_property
    def placed(self) -> Placed:
        work = self.parcel.work
        if work is None:
            return Placed(None)
        once = published.heads(self.git, NAMESPACE, self.parcel.branch)
        found = branches.beginning(self.git, base=self.parcel.base, remote=self.remote, local=work, once=once)
        if found.anew:  # deleted while the run was on: what is new needs a place all the same
            return Placed(work)
        if found.kept:
            run = self.claim.run
            homecoming.keep(self.config, self.git, run, {"work": work})
            return Placed(None, (run.kept_ref("work"),))
        return Placed(found.start)

    @cached_property
    def hand_back(self) -> HandBack | None:
        return None if self.not_ours else self.parcel.plan(self.placed)

    @cached_property
    def merged(self) -> str | None:
        """The data branch with what the run did to the tracker, and the hand-back."""
        if self.data is None:
            return None
        before = standing.issue_tree(self.git, self.data, self.issue_id)
        if not before:  # deleted by a person: a comment would bring it back
            return self.data
        attempts.note_publication(self.config, self.issue_id, before=before, after=before)
        joined = joining.join(self.config, self.git, self.parcel.line, self.data, self.issue_id)
        merged = joined.commit
        if self.hand_back:
            issue, author = self._issue(merged), self.config.person
            made = changes(self.hand_back, issue, self.parcel.comment, author, joined.persons_state)
            merged = writer.commit(self.git, merged, made, sign=self.config.sign_commits)
        after = standing.issue_tree(self.git, merged, self.issue_id)
        attempts.note_publication(
            self.config, self.issue_id, before=before, after=after, handed_back=self.hand_back is not None
        )
        return merged

    @property
    def updates(self) -> list[Update]:
        """The branch first."""
        made = []
        if self.placed.tip and self.placed.tip != self.remote and self._has_commits:
            ref = f"refs/heads/{self.parcel.branch}"
            made.append(Update(ref, self.placed.tip, self.remote or ""))
        if self.merged and self.merged != self.data:
            made.append(Update(self.config.data_ref, self.merged))
        return made

    @property
    def ending(self) -> Ending:
        merged = self.merged  # first: the plan depends on what it notes
        pushed = {update.ref: update.new or "" for update in self.updates}
        hand_back = self.hand_back
        return Ending(
            data=pushed.get(self.config.data_ref, ""),
            work=pushed.get(f"refs/heads/{self.parcel.branch}", ""),
            tip=(self.placed.tip or "") if self._has_commits else "",
            kept=list(self.placed.kept),
            commits=self.commits,
            handed_back=hand_back is not None,
            handed_to=hand_back.to if hand_back else None,
            comment=self.parcel.comment if hand_back and hand_back.comment and merged else None,
            not_ours=self.not_ours,
        )

    @cached_property
    def commits(self) -> list[str]:
        """Those that origin did not have when the run's end was first pushed."""
        tip = self.placed.tip
        if tip is None:
            return []
        earlier = (one.commits for one in reversed(self.claim.run.endings) if one.tip == tip)
        return outgoing.commits(self.git, tip, outgoing.on_origin(NAMESPACE, self.parcel.branch)) or next(
            earlier, []
        )

    @property
    def _has_commits(self) -> bool:
        """Whether there is anything for a branch: one that only repeats its base is not made."""
        return bool(self.commits) or self.remote is not None

    def _issue(self, commit: str) -> Issue:
        try:
            return Tracker(self.git, commit).issue(self.issue_id)
        except BadData:  # a person's slip in another of its files; state and assignee are written anew
            return Issue(id=self.issue_id, description="")


def _data_ref(config: Config) -> str:
    return f"{repositories.REMOTE}{config.issues_branch}"


def _branch_ref(branch: str) -> str:
    return f"{repositories.REMOTE}{branch}"


def _rounds() -> Iterator[int]:
    for number in range(ROUNDS):
        if number:
            time.sleep(random.uniform(0, min(2.0, 0.05 * 2**number)))
        yield number
