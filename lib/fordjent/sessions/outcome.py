"""What came of a run, by what is there: the pull request, or, for roles that make none, what was said."""

from __future__ import annotations

import msgspec

from fordjent.agent.protocols import Ended, Reason
from fordjent.roles.roles import Role
from fordjent.sessions.states import State, Why
from fordjent.store.waiting_checks import WaitingCheck

SAYING = ("forgejo_comment", "forgejo_review")
"""Tools that leave something for a person to read."""

FAILURES: dict[Reason, Why] = {
    "max_turns": "max_turns",
    "no_progress": "no_progress",
    "error": "error",
    "budget": "budget",
    "timeout": "timeout",
}


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen when the run had ended.

    `pull`: the open (or merged) pull request of the branch, 0: none; `pushed`: it has every commit of the
    branch; `moved`: it has more than when the run began; `said`: a comment or review was made in this run;
    `made`: issues that were; `begun`: the branch that its commits are the first of; `waits_for`: pull requests that the merge queue lets go first.
    """

    pull: int = 0
    pushed: bool = False
    moved: bool = False
    said: bool = False
    made: int = 0
    begun: str = ""
    waits_for: tuple[int, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`lasting`: of a failure, that the same would come of it again. `lacking`, `way_out`: what the agent is told to make up for, before it counts as a failure."""

    state: State
    reason: str
    why: Why = ""
    pull: int = 0
    lasting: bool = False
    lacking: str = ""
    way_out: str = ""
    checks: WaitingCheck | None = None
    """Of its pull request, where they are waited for."""


def judge(role: Role, ended: Ended, evidence: Evidence, cancelled: str = "") -> Outcome:
    """The state that the session comes to. What an agent says of itself does not count."""
    if ended.reason == "cancelled":
        return Outcome(state="waiting", reason=f"Stopped: {cancelled or 'cancelled'}.", pull=evidence.pull)
    seen = _of_pull(evidence) if role.makes_pull else _of_words(role, evidence)
    why = FAILURES.get(ended.reason)
    stopped_short = why == "budget" and seen.state == "blocked"  # what it said meanwhile is no question
    if why is None or not (seen.lacking or stopped_short):
        return seen
    lasting = ended.failure is not None and not ended.failure.retry
    return Outcome(state="failed", why=why, reason=_why(role, ended), pull=evidence.pull, lasting=lasting)


def _of_pull(evidence: Evidence) -> Outcome:
    number = evidence.pull
    propose = "commit what is done and call forgejo_create_pr, or say why not with forgejo_comment"
    if number and not evidence.pushed:
        return _lacks(f"pull request #{number} does not have all commits of the branch", propose, number)
    if number and evidence.moved:
        return Outcome(state="completed", reason=f"Pull request #{number} has it.", pull=number)
    if number and evidence.said:
        return Outcome(
            state="completed", reason=f"Answered; pull request #{number} stays as it is.", pull=number
        )
    if number:
        return _lacks(f"pull request #{number} is as it was, and nothing was said", propose, number)
    if evidence.begun:
        return Outcome(state="completed", reason=f"The first commits are on {evidence.begun}.")
    if evidence.waits_for:
        others = ", ".join(f"#{other}" for other in evidence.waits_for)
        return Outcome(
            state="waiting", reason=f"Changes files that {others} changes too: it is opened after that."
        )
    if evidence.said:
        return Outcome(state="blocked", reason="See the comment: an answer there goes on with it.")
    return _lacks("there is no pull request", propose)


def _of_words(role: Role, evidence: Evidence) -> Outcome:
    if evidence.said:
        made = f", with {evidence.made} sub-issues" if evidence.made else ""
        return Outcome(state="completed", reason=f"Said what there is to say{made}.")
    tool = "forgejo_review" if role.name == "reviewer" else "forgejo_comment"
    return _lacks("nothing was said", f"say what you found with {tool}")


def _lacks(what: str, way_out: str, pull: int = 0) -> Outcome:
    return Outcome(
        state="failed",
        why="no_progress",
        reason=f"It ended, but {what}.",
        pull=pull,
        lacking=what,
        way_out=way_out,
    )


def _why(role: Role, ended: Ended) -> str:
    reasons = {
        "max_turns": f"All {role.max_turns} turns are used up.",
        "no_progress": "It did the same again and again, and nothing changed.",
        "timeout": "The time for one run (sessions.run_timeout) is over.",
    }
    if ended.reason in reasons:
        return reasons[ended.reason]
    hint = f" ({ended.failure.hint})" if ended.failure and ended.failure.hint else ""
    return f"{ended.text}{hint}"
