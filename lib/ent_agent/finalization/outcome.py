"""What came of a run: a function of the facts. The exit code is one witness among several."""

from __future__ import annotations

from typing import Literal

import msgspec

from ent_agent.records import EndedBy, Outcome

Statement = Literal["", "done", "stuck", "other"]

FINISHED: frozenset[Outcome] = frozenset(("completed", "stuck"))
"""Outcomes after which a person has the issue."""

CRASHES = frozenset(("SEGV", "ABRT", "BUS", "ILL", "FPE", "TRAP", "SYS"))
"""Signals that a program brings upon itself; the others come from somebody else."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run when it is over."""

    ended_by: EndedBy = "exit"
    exit_code: int | None = 0
    signal: str | None = None
    reported: Literal["", "success", "error", "turn_limit", "quota", "auth"] = ""
    """What the agent's output says."""
    commits: int = 0
    """Of the agent itself, in this run."""
    left_overs: bool = False
    ahead: bool = False
    """The branch has commits that its base does not have, of whichever run."""
    statement: Statement = ""
    """What its comments say, the newest first."""
    last_words: Statement = ""
    """What the end of its output says; alone it is no proof of anything done."""
    handed_over: bool = False
    """It gave the issue to a person."""
    not_ours: str = ""
    """Why the issue is not the agent's any more, as origin has it: "is done", "is assigned to alice"."""


class Verdict(msgspec.Struct, frozen=True):
    """`reason`: for people, one sentence. `counts`: whether a failed attempt counts."""

    outcome: Outcome
    reason: str
    counts: bool = False


def judge(facts: Facts) -> Verdict:
    """What came of the run, and why."""
    if facts.not_ours or facts.ended_by == "cancelled":
        return Verdict("cancelled", f"the issue {facts.not_ours or 'was taken back'}")
    if facts.ended_by == "claim_lost":
        return Verdict("cancelled", "the claim was lost to another host")
    if _has_finished(facts):
        return _finished(facts)
    if facts.ended_by == "interrupted":
        return Verdict("cancelled", "the run was told to stop")
    if facts.ended_by == "timeout":
        return _failed("timeout", "ran into limits.agent_timeout")
    if facts.ended_by == "silence":
        return _failed("timeout", "gave no sign of progress for limits.silence_timeout")
    if facts.ended_by == "bounds":
        return _failed(
            "failed", "took more of the machine than it may (sandbox.max_processes, max_memory_bytes)"
        )
    if facts.ended_by == "budget":
        return _failed("turn_limit", "spent more than limits.max_cost_usd")
    if facts.ended_by == "start_failed":
        return _failed("failed", "could not be started")
    if facts.reported == "auth":
        return Verdict("auth", "the agent is not logged in")
    if facts.reported == "quota":
        return Verdict("quota", "the agent's quota is used up")
    if facts.reported == "turn_limit":
        return _failed("turn_limit", "reached its limit of turns")
    if facts.ended_by == "signal" or facts.signal:
        return _signalled(facts)
    if facts.reported == "error":
        return _failed("failed", "the agent reported an error")
    if facts.exit_code:
        return _failed("failed", f"the agent ended with exit code {facts.exit_code}")
    return _ended_well(facts)


def _has_finished(facts: Facts) -> bool:
    """Whether the agent said so in so many words and gave the issue to a person: what it did after that,
    a hang at its end or an exit code, takes nothing from it."""
    return facts.handed_over and facts.statement in ("done", "stuck")


def _finished(facts: Facts) -> Verdict:
    if facts.statement == "stuck":
        return Verdict("stuck", "the agent said that it is stuck")
    return Verdict("completed", "the agent said that it is done, and handed over")


def _ended_well(facts: Facts) -> Verdict:
    """It ended by itself, without a sign of failure: what is there to show for it?"""
    if facts.statement == "stuck" or (facts.last_words == "stuck" and facts.statement != "done"):
        return Verdict("stuck", "the agent said that it is stuck")
    if facts.statement == "done" or (facts.last_words == "done" and (facts.left_overs or facts.ahead)):
        return Verdict("completed", "the agent said that it is done")
    if facts.commits:
        return Verdict("completed", "the agent committed its work")
    if facts.statement or facts.handed_over:
        what = "gave the issue to a person" if facts.handed_over else "left a comment"
        return Verdict("stuck", f"the agent {what}, but committed nothing")
    if facts.left_overs:
        return _failed("failed", "left changes, but neither committed them nor said that it was done")
    return _failed("failed", "neither a commit nor a comment came of it")


def _signalled(facts: Facts) -> Verdict:
    name = facts.signal or "unknown"
    if name in CRASHES:
        return _failed("failed", f"the agent crashed (signal {name})")
    return Verdict("failed", f"the agent was ended by signal {name}; the attempt does not count")


def _failed(outcome: Outcome, reason: str) -> Verdict:
    return Verdict(outcome, reason, counts=True)
