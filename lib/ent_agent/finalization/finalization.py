"""Say what came of a run, save all of it, and hand the issue back.

The order of effects, each of them repeatable: what the agent committed and left is saved
here; the verdict is written down; branch, tracker, hand-back and end of the claim go to
origin in one push; the attempt is settled; the worktree is brought to its branch's end.
So kill -9 anywhere loses nothing, and the next call comes to the same end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ent_agent import state
from ent_agent.claims import standing
from ent_agent.claims.claims import Claim, ClaimLost
from ent_agent.config import Config
from ent_agent.finalization import (
    homecoming,
    judging,
    notices,
    publication,
    saving,
    secrecy,
    settlement,
    settling,
)
from ent_agent.finalization.handback import comment_id
from ent_agent.finalization.outcome import Verdict
from ent_agent.finalization.publication import Parcel
from ent_agent.finalization.reporting import Reporter
from ent_agent.finalization.saving import Saved
from ent_agent.records import Record, ResultSection, derive
from ent_agent.repositories import looking, repositories
from ent_agent.running import runs, spending
from ent_agent.running.runs import Ending, Run
from ent_agent.selection import attempts
from ent_agent.tracker.reader import Tracker
from harness import sweeping
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import BadData, TryLater
from harness.git import Git
from harness.redaction import Redactor
from harness.worktrees.leftovers import Rules


def finalize(record: Record, config: Config, allow: Iterable[str] = ()) -> Record:
    """Finish the run that a record tells of; adds `result`. The caller holds the issue's lock.

    A record without a claim has nothing to finish, and is given back as it is. `allow`:
    paths that a person lets be committed and pushed; with them a finished run that
    withheld files goes on.

    Raises:
        TryLater: origin gave no answer; all is saved here, and the next call goes on. Or
            the agent's quota is used up (`agent_quota`); the record has its result then.
        NotLoggedIn: the agent CLI wants a person to log in; the record has its result then.
        BadData: there is no such run here, or files are withheld that were not allowed.
    """
    if record.claim is None:
        return record
    run = runs.load(config, record.claim.run)
    allowed = frozenset(path.rstrip("/") for path in allow)
    if run.phase == "finalized" and not (allowed and run.withheld):
        return derive(record, result=runs.record(run).result)
    finishing = _Finalization(config, repositories.control(config), run, record, allowed)
    try:
        return finishing.work()
    finally:  # a failure is reported with the record that came in
        record.run, record.result = finishing.record.run, finishing.record.result


def pending(config: Config) -> Iterator[Record]:
    """The records of dead runs that are to be finalized, oldest first.

    A run whose agent was never started has left nothing: the next start takes it up, and
    its claim with it. Where its issue is not the agent's any more, it ends here.
    """
    notices.send_late(config)
    for run in runs.pending(config):
        record = runs.record(run)
        if run.phase in ("claiming", "claimed"):
            _let_go(config, run)
        elif record.claim and record.worktree and record.issue:
            yield record


def withholding(config: Config, issue: str) -> Record:
    """The record of an issue's last run, which withheld files. `issue`: an id or a unique prefix.

    Raises:
        BadData: there is none.
    """
    found = runs.named(runs.every(config), issue)
    if not found or not found[-1].withheld:
        raise BadData(f"no run of issue {issue} withheld anything", hint="`ent-agent-status` shows what did")
    return runs.record(found[-1])


@dataclass
class _Finalization:
    config: Config
    git: Git
    run: Run
    record: Record
    allowed: frozenset[str]

    def work(self) -> Record:
        if self.run.phase == "running":
            sweeping.sweep(self.run.id)
            self.record = spending.counted(self.record, self.config, self.run)
        if self.run.phase == "ran" and self.record.run is None:
            self.record = derive(self.record, run=runs.record(self.run).run)
        goes_on = self.run.phase == "finalized"
        saved = self._save()
        if goes_on:
            return self._go_on(saved)
        runs.update(self.config, self.run, withheld=list(saved.withheld) if saved else [])
        ending = self._publish(saved)
        settlement.settle(self.config, self.run, self.record, ending)
        reached("attempt-settled")
        self._settle_worktree(saved, ending)
        reached("worktree-settled")
        return self._end(ending)

    # ---- here

    def _save(self) -> Saved | None:
        """What the run left, in control.git; None: there is no worktree."""
        if not self.run.saved_at:
            runs.update(self.config, self.run, saved_at=int(time.time()))
        if self.record.worktree is None:
            return None
        return saving.save(self.config, self.git, self.run, self.record, self._rules)

    @property
    def _rules(self) -> Rules:
        limits = self.config.limits
        return Rules(
            max_file_bytes=limits.max_file_bytes,
            max_left_over_files=limits.max_left_over_files,
            redactor=self._redactor,
            allowed=self.allowed,
        )

    @property
    def _redactor(self) -> Redactor:
        return secrecy.redactor(self.config)

    # ---- on origin

    def _publish(self, saved: Saved | None) -> Ending:
        """The end of the run on origin; for a lost claim one that published nothing."""
        try:
            claim = Claim.resume(self.config, self.git, self.run)
            looking.look(self.config, self.git)
            reached("claim-resumed")
            verdict = judging.verdict(self.config, self.git, self.run, self.record, saved)
            if saved is None:
                claim.release()
                return Ending()
            return publication.publish(claim, self._parcel(saved, verdict), just_looked=True)
        except ClaimLost as lost:
            return self._published_before() or self._lost(saved, lost)

    def _published_before(self) -> Ending | None:
        """The run's end, where an earlier call brought it to origin and its answer was not seen."""
        looking.look(self.config, self.git)
        branch = self.record.worktree.branch if self.record.worktree else ""
        return publication.reached_origin(self.config, self.git, self.run, branch)

    def _parcel(self, saved: Saved, verdict: Verdict, comment: str = "") -> Parcel:
        assert self.record.worktree
        worktree = self.record.worktree
        reporter = Reporter(self.config, self.git, self.record, saved, verdict, self._redactor)
        return Parcel(
            line=saved.line.commit if saved.line else self.run.tracker_line or self.run.tracker_start,
            branch=worktree.branch,
            base=self.git.resolve(f"{repositories.REMOTE}{worktree.base}") or worktree.start,
            work=saved.work if saved.may_be_pushed else None,
            plan=reporter.plan,
            comment=comment or comment_id(self.run.id),
        )

    def _lost(self, saved: Saved | None, lost: ClaimLost) -> Ending:
        """Publish nothing, and keep all of it by name."""
        say(lost.message)
        runs.update(self.config, self.run, verdict=Verdict("cancelled", lost.message))
        if saved:
            tracker = {"tracker": saved.line.agent_tip} if saved.line else {}
            homecoming.keep(self.config, self.git, self.run, {"work": saved.work, **tracker})
        return Ending(not_ours=lost.message)

    # ---- afterwards

    def _settle_worktree(self, saved: Saved | None, ending: Ending) -> None:
        if saved and saved.home.registration and self.record.worktree:
            spare = state.of(self.config).run(self.run.id) / "replaced.git"
            settling.settle(
                self.config,
                self.git,
                self.record.worktree,
                saved.home.registration,
                ending.tip or saved.work,
                saved.index,
                saved.files,
                spare,
            )

    def _end(self, ending: Ending) -> Record:
        """Write the result down, say what a person must know of, and raise what stops the agent."""
        verdict = self.run.verdict
        assert verdict
        self.record.result = ResultSection(
            outcome=verdict.outcome,
            reason=verdict.reason,
            commits=ending.commits,
            pushed=bool(ending.tip and ending.commits),
            handed_to=ending.handed_to,
            comment=ending.comment,
        )
        failure = settlement.stop_of_the_agent(self.config, self.record, verdict)
        notice = {"auth": "login_needed", "quota": "quota"}.get(verdict.outcome, "")
        runs.update(
            self.config,
            self.run,
            self.record,
            phase="finalized",
            notice=notice or ("handed_over" if ending.handed_back else ""),
        )
        reached("finalized")
        notices.send(self.config, self.run, self.record)
        if failure:
            raise failure
        return self.record

    # ---- after a person allowed what was withheld

    def _go_on(self, saved: Saved | None) -> Record:
        """Push what was withheld, and hand over to the reviewer, unless a person changed the issue since.

        Raises:
            BadData: something is withheld still; names it.
        """
        if saved is None or saved.withheld:
            names = ", ".join(f"{one.path} ({one.rule})" for one in saved.withheld) if saved else "everything"
            known = saved is not None and any(one.is_known_secret for one in saved.withheld)
            why = "; a secret of this machine never passes" if known else ""
            hint = f"name each with --allow, or remove it from the worktree{why}"
            raise BadData(f"withheld still: {names}", hint=hint)
        assert self.run.verdict
        handed_to = runs.record(self.run).result
        runs.update(self.config, self.run, claim_ref="", endings=[])
        looking.look(self.config, self.git)
        parcel = self._parcel(saved, self.run.verdict, comment=comment_id(self.run.id, "allowed end"))
        if not self._is_as_handed_back(handed_to):
            parcel = replace(parcel, plan=lambda _placed: None)
        claim = Claim(self.config, self.git, self.run)
        ending = publication.publish(claim, replace(parcel, whosever=True), just_looked=True)
        self._settle_worktree(saved, ending)
        runs.update(self.config, self.run, withheld=[])
        return self._end(ending)

    def _is_as_handed_back(self, result: ResultSection | None) -> bool:
        data = self.git.resolve(f"{repositories.REMOTE}{self.config.issues_branch}")
        if data is None or result is None:
            return False
        try:
            issue = Tracker(self.git, data).issue(self.run.issue)
        except BadData:
            return False
        return issue.state == "blocked" and issue.assignee == result.handed_to


def _let_go(config: Config, run: Run) -> None:
    """End a run that never started its agent, when nobody will take it up."""
    git = repositories.control(config)
    data = git.resolve(f"{repositories.REMOTE}{config.issues_branch}")
    if not standing.not_ours(config, git, data, run.issue):
        return
    try:
        Claim.resume(config, git, run).release()
    except ClaimLost:
        pass
    except TryLater as failure:
        say(f"the claim on issue {run.issue} stays until it expires: {failure.message}")
    attempts.give_back(config, run.issue, run.id)
    runs.update(config, run, phase="finalized")
