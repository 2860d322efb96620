"""The claim on an issue between hosts: one ref of origin, compared and swapped by leases.

A state that is pushed is no claim: a refused push may mean any other change, and two equal
changes merge. So who works an issue holds `<claims_prefix><issue key>`, renews it while the
agent runs, and ends it in the same atomic push that hands the issue back. Whoever lost it
cannot publish.

Where origin takes no such refs, this host must be the only one; then the claim is the
issue's lock alone, and that is said.
"""

from __future__ import annotations

from dataclasses import dataclass

from ent_agent import state
from ent_agent.claims import observation, standing
from ent_agent.claims.claim_value import HOLD_SECONDS, TTL_SECONDS, ClaimValue
from ent_agent.config import Config
from ent_agent.records import ClaimSection
from ent_agent.repositories import looking, origin, pushing, repositories
from ent_agent.repositories.pushing import PUSH_TIMEOUT_SECONDS, Pushed, Update
from ent_agent.running import runs
from ent_agent.running.runs import Run
from harness import clock, sweeping
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import Busy
from harness.git import Git, GitFailed


class ClaimLost(Busy):
    """Another has the issue now; nothing of this run may be published."""

    code = "claim_lost"


@dataclass
class Claim:
    """A claim that this run holds. `oid`: its value on origin; "": held by the issue's lock alone."""

    config: Config
    git: Git
    run: Run
    oid: str = ""
    refusal: str = ""
    """What git said of the last push."""

    # ---- beginning

    @classmethod
    def take(cls, config: Config, git: Git, issue_id: str, run: Run) -> Claim:
        """Claim the issue for a run, and see that it is still ours to work.

        The caller holds the issue's lock: so a claim of this state folder's own is a dead
        run's, and is taken over at once. origin was fetched again when this returns; what
        is built on its branches is to be read after it.

        Raises:
            Busy: somebody else has it, or it is not ours any more.
            TryLater: origin's answer was not seen.
        """
        claim = cls(config, git, run)
        held = observation.holder(config, git, issue_id)
        if held and held.own:
            sweeping.sweep(held.value.run)
        elif held and held.live:
            raise Busy(
                f"issue {issue_id} is in work on {held.value.host or 'another host'}",
                hint="it is taken over when it has not been renewed for its ttl",
            )
        if pushing.origin_takes(config).claims and not claim._acquire(held.oid if held else None):
            raise Busy(f"issue {issue_id} was claimed by somebody else just now")
        claim._confirm()
        return claim

    @classmethod
    def resume(cls, config: Config, git: Git, run: Run) -> Claim:
        """The claim of a run that an earlier step began, swapped for a new value.

        The swap comes before anything else: it ends every push of the earlier step that
        may still be on its way.

        Raises:
            ClaimLost: it is not ours any more.
            TryLater: origin's answer was not seen.
        """
        claim = cls(config, git, run)
        if run.claim_ref and not claim._swapped():
            claim.renew()
        return claim

    # ---- holding

    @property
    def is_local(self) -> bool:
        """Whether origin takes no claims, and the issue's lock is all there is."""
        return not self.run.claim_ref

    def section(self) -> ClaimSection:
        return ClaimSection(
            ref=self.run.claim_ref, oid=self.oid, run=self.run.id, ttl_seconds=int(TTL_SECONDS)
        )

    def left_seconds(self) -> float:
        """Until the holder must stop itself: three quarters of the ttl after the last good renewal began."""
        if self.is_local:
            return float("inf")
        assert self.run.renewed
        return HOLD_SECONDS - clock.elapsed_at_most(self.run.renewed, clock.now())

    def patience(self) -> float:
        """How many seconds one exchange with origin may take: not past the own stop by much."""
        left = self.left_seconds() if self.is_local or self.run.renewed else 0.0
        return min(PUSH_TIMEOUT_SECONDS, max(1.0, left)) if left > 0 else PUSH_TIMEOUT_SECONDS

    def renew(self, *together: Update) -> bool:
        """Replace the claim's value, and `together` with it, all or nothing.

        False: the claim is still ours, but was not renewed with this (origin's data moved).

        Raises:
            ClaimLost: another value stands there.
            TryLater: origin's answer was not seen.
        """
        if self.is_local:
            return not together or self._pushed(*together)
        new = self._next_value(self.oid)
        if not together or pushing.origin_takes(self.config).atomic:
            return self._swap(new, together)
        return self._swap(new, ()) and self._pushed(*together)

    def release(self, *together: Update) -> bool:
        """End the claim, with `together` in the same push where origin can do that.

        False: refused, or not seen to have arrived; `refusal` has what git said.

        Raises:
            ClaimLost: another value stands there.
            TryLater: origin's answer was not seen.
        """
        if self.is_local:
            return not together or self._pushed(*together)
        if together and not pushing.origin_takes(self.config).atomic:
            return self.renew() and self._pushed(*together) and self.release()
        if self._swap(self._end_value(), together):
            self.oid = ""
            reached("claim-released")
            return True
        if not together and self.oid and self.forgo_deletion():
            return self.release()
        return False

    def forgo_deletion(self) -> bool:
        """Whether, from now on, a last value ends claims, since origin lets nobody delete them there."""
        if not self.run.claim_ref.startswith("refs/heads/"):
            return False
        if not pushing.origin_takes(self.config).deletes:
            return False
        pushing.remember(self.config, deletes=False)
        return True

    def see(self) -> None:
        """Take the claim's value as the last fetch showed it.

        Raises:
            ClaimLost: it is not one of ours.
        """
        if not self.is_local:
            seen = self.git.resolve(repositories.SEEN_CLAIMS + state.key(self.run.issue))
            if seen not in self.run.claim_oids:
                raise ClaimLost(_lost(self.run, seen))
            self.oid = seen

    # ---- the swap

    def _acquire(self, old: str | None) -> bool:
        """Put the first value there; False: lost. Where origin refuses such refs, `run.claim_ref` stays ""."""
        ref = self.config.claims_prefix + state.key(self.run.issue)
        for _ in range(2):  # a ref that came and went again looks like one that is refused
            runs.update(self.config, self.run, claim_ref=ref)
            new = self._next_value(old)
            started = clock.now()
            pushed = self._push([Update(ref, new, old or "")])
            reached("claim-pushed")
            if pushed.ok or self._there() == new:
                self._won(new, started)
                return True
            if self._there() is not None or old:
                return False
            if not pushed.refused:
                assert pushed.finished
                raise origin.explain(GitFailed(pushed.finished), self.config)
        say(
            f"origin refuses claims ({pushed.said}): run ent-agent for this repository on this host only; "
            "claims_prefix may name a place that it takes"
        )
        pushing.remember(self.config, claims=False)
        runs.update(self.config, self.run, claim_ref="")
        return True

    def _swapped(self) -> bool:
        """Renew from the value that was last pushed, or was about to be: mostly it is the one that is there.

        False: it is another of ours, which `oid` is then.
        """
        if not self.run.claim_oids:
            raise ClaimLost(_lost(self.run, self._there()))
        self.oid = self.run.claim_oids[-1]
        return self.renew()

    def _swap(self, new: str | None, together: tuple[Update, ...]) -> bool:
        started = clock.now()
        update = Update(self.run.claim_ref, new, self.oid)
        pushed = self._push([update, *together], all_or_nothing=bool(together))
        if pushed.without_atomic:
            pushing.forgo_atomic(self.config)
            return self.release(*together) if new is None else self.renew(*together)
        there = new if pushed.ok else self._there()
        if there is None and together and not pushed.ok:
            self.oid = ""  # ended, but by whom? What came with it tells.
            return False
        if there == new:
            self._won(new, started)
            return True
        if there not in self.run.claim_oids:
            raise ClaimLost(_lost(self.run, there))
        self.oid = there
        return False

    def _won(self, new: str | None, started: clock.Moment) -> None:
        if new is not None:
            self.oid = new
            runs.update(self.config, self.run, renewed=started)

    def _next_value(self, parent: str | None, *, released: bool = False) -> str:
        """A new value of the claim, on disk as ours before it is anywhere else."""
        number = self.run.claim_number
        value = ClaimValue.of(self.run.issue, self.config.id, self.run.id, number, released=released)
        oid = value.write(self.git, parent)
        runs.update(self.config, self.run, claim_oids=[*self.run.claim_oids, oid], claim_number=number + 1)
        reached("claim-recorded")
        return oid

    def _end_value(self) -> str | None:
        return (
            None if pushing.origin_takes(self.config).deletes else self._next_value(self.oid, released=True)
        )

    def _push(self, updates: list[Update], *, all_or_nothing: bool = False) -> Pushed:
        pushed = pushing.push(
            self.config, self.git, updates, all_or_nothing=all_or_nothing, timeout_seconds=self.patience()
        )
        self.refusal = pushed.said
        return pushed

    def _pushed(self, *updates: Update) -> bool:
        """Whether origin has these now, pushed without the claim."""
        pushed = pushing.push_together(self.config, self.git, updates, timeout_seconds=self.patience())
        self.refusal = pushed.said
        return pushed.ok

    def _there(self) -> str | None:
        found = pushing.there(self.config, self.git, self.run.claim_ref, timeout_seconds=self.patience())
        return found.get(self.run.claim_ref)

    # ---- after winning

    def _confirm(self) -> None:
        """Look again: another host may have done the issue and let it go since our last look."""
        looking.look(self.config, self.git)
        commit = self.git.resolve(f"refs/remotes/origin/{self.config.issues_branch}")
        self.see()
        why = standing.not_ours(self.config, self.git, commit, self.run.issue)
        if why:
            self.release()
            raise Busy(f"issue {self.run.issue} {why}")
        runs.update(self.config, self.run, phase="claimed", tracker_origin=commit)
        reached("claim-confirmed")


def _lost(run: Run, there: str | None) -> str:
    return f"the claim on issue {run.issue} is lost: " + (
        "another run has it" if there else "it was ended by somebody else"
    )
