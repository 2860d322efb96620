"""The hand-back: who gets the issue, and what they are told. Texts and rules, as functions of values."""

from __future__ import annotations

import hashlib
import socket
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from ent_agent.finalization.outcome import Verdict
from ent_agent.records import RunSection, Usage
from ent_agent.tracker.guard import Dropped
from ent_agent.tracker.model import Issue, State
from ent_agent.tracker.writer import AddComment, Change, SetAssignee, SetState
from harness import cutting
from harness.git import Person
from harness.worktrees.leftovers import Withheld

LISTED = 20
"""Entries of a list that a comment shows."""
SHOWN_CHARACTERS = 4000
"""Of the agent's last words, and of its transcript's end."""
PUT_OFF: tuple[State, ...] = ("new", "backlog")
"""States by which a person says "not now"; of a finished issue `inprogress` would say that somebody works on it."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All that a hand-back can tell. Commits are of control.git."""

    verdict: Verdict
    issue: str
    branch: str
    base: str
    attempts: int = 0
    """Failed ones, this one included."""
    max_attempts: int = 1
    commits: int = 0
    """On the branch, that the base does not have; 0 where it was not pushed too."""
    numbers: str = ""
    """`3 files changed, 10 insertions(+)`."""
    is_pushed: bool = True
    """origin has the branch with all of the run's commits."""
    run: RunSection | None = None
    said: bool = False
    """The agent left a comment of its own in this run."""
    chosen: str | None = None
    """The person that the agent gave the issue to."""
    reviewer: str | None = None
    handler: str | None = None
    withheld: tuple[Withheld, ...] = ()
    kept: tuple[str, ...] = ()
    """Refs of control.git that hold what the branch could not take."""
    kept_why: str = ""
    """What was unusual about where the agent left its commits."""
    dropped: tuple[Dropped, ...] = ()
    transcript_tail: str = ""
    """Redacted."""


class HandBack(msgspec.Struct, frozen=True, kw_only=True):
    """`to` None: nobody is left, the issue is assigned to no one. `comment` "": nothing to add."""

    to: str | None
    comment: str
    yields: bool = False
    """The work is finished: where a person put the issue off meanwhile, that state stands."""


def plan(report: Report) -> HandBack | None:
    """The hand-back; None: the issue stays with the agent, or as a person set it."""
    if not is_due(report):
        return None
    finished = report.verdict.outcome == "completed" and not report.withheld and report.is_pushed
    to = report.chosen or (report.reviewer if finished else report.handler)
    if report.withheld or not report.is_pushed:
        to = report.handler or to
    own_words = finished and report.chosen and report.said
    something_to_add = report.kept or report.kept_why or report.dropped or to is None
    if own_words and not something_to_add:
        return HandBack(to=to, comment="", yields=finished)
    return HandBack(to=to, comment=_comment(report, to), yields=finished)


def is_due(report: Report) -> bool:
    """Whether a person is to get the issue now."""
    verdict = report.verdict
    if verdict.outcome in ("completed", "stuck"):
        return True
    if verdict.outcome in ("cancelled", "quota", "auth"):
        return False
    if report.withheld or not report.is_pushed:
        return True
    return verdict.counts and report.attempts >= report.max_attempts


def changes(
    hand_back: HandBack, issue: Issue, comment: str, author: Person, persons_state: State | None = None
) -> list[Change]:
    """The hand-back as changes of the tracker, for the issue as it stands; repeatable.

    `comment`: the id of its comment; `persons_state`: what a person set during the run.
    """
    state = persons_state if hand_back.yields and persons_state in PUT_OFF else "blocked"
    made: list[Change] = []
    if hand_back.comment and all(known.id != comment for known in issue.comments):
        made.append(AddComment(issue=issue.id, text=hand_back.comment, author=author, id=comment))
    if issue.state != state:
        made.append(SetState(issue.id, state))
    if issue.assignee != hand_back.to:
        made.append(SetAssignee(issue.id, hand_back.to))
    return made


def comment_id(run_id: str, occasion: str = "hand-back") -> str:
    """The id of a comment of ours on a run: the same however often it is made."""
    return hashlib.sha256(f"{occasion} of {run_id}".encode()).hexdigest()[:32]


# ---- the comment


def _comment(report: Report, to: str | None) -> str:
    parts = [part for part in _parts(report, to) if part]
    return "\n\n".join(parts) + "\n"


def _parts(report: Report, to: str | None) -> Iterator[str]:
    yield _headline(report)
    yield _what_there_is(report)
    if not report.said and report.run and report.run.message:
        yield "Its last words:\n\n" + _quoted(cutting.ending(report.run.message, SHOWN_CHARACTERS))
    if report.verdict.counts and report.transcript_tail:
        yield "The end of its output:\n\n" + _indented(report.transcript_tail)
    if report.withheld:
        yield _withheld(report)
    if report.kept_why:
        yield f"Note: {_sentence(report.kept_why)}"
    if report.kept:
        yield _kept(report)
    if report.dropped:
        yield _dropped(report.dropped)
    if to is None:
        yield (
            "Nobody was found to hand this to: no `Reviewer:` or `Handler:` line, no author, nobody who "
            "assigned or commented, and none in config.toml."
        )
    yield _spent(report.run)


def _headline(report: Report) -> str:
    outcome, reason = report.verdict.outcome, _sentence(report.verdict.reason)
    if outcome == "completed":
        return f"Handed back for review: {reason}"
    if outcome == "stuck":
        return f"Needs a person: {reason}"
    attempts = f" after {_number(report.attempts, 'failed attempt')}" if report.attempts else ""
    return f"Not done{attempts}; the last one ({outcome}): {reason}"


def _what_there_is(report: Report) -> str:
    if not report.is_pushed:
        return f"The branch `{report.branch}` was not pushed."
    if not report.commits:
        return f"There are no commits on `{report.branch}`."
    return (
        f"{_number(report.commits, 'commit')} on `{report.branch}`, for `{report.base}`"
        f"{': ' + report.numbers if report.numbers else ''}.\n\n"
        f"    git fetch && git switch {report.branch}"
    )


def _withheld(report: Report) -> str:
    lines = [f"- `{_plain(one.path)}`: {one.rule}" for one in report.withheld[:LISTED]]
    lines += _and_more(len(report.withheld))
    return (
        "Not committed or not pushed, since it may be something that nobody else should get:\n\n"
        + "\n".join(lines)
        + f"\n\nIt is still on {socket.gethostname()}. {_way_on(report)}"
    )


def _way_on(report: Report) -> str:
    """How a person lets pass what may."""
    known = [one for one in report.withheld if one.is_known_secret]
    lines = []
    if others := [one for one in report.withheld if not one.is_known_secret]:
        first = _plain(others[0].path)
        lines.append(
            f"To let a file pass:\n\n    ent-agent-finalize --issue {report.issue} --allow '{first}'"
        )
    if any(one.has_fingerprint for one in others):
        lines.append(
            "What is no secret, an example's for instance, passes for good with its fingerprint in "
            "`secret_scan.allow` of config.toml."
        )
    if known:
        lines.append("A secret of this machine never passes: take it out of the branch and the worktree.")
    return "\n\n".join(lines)


def _kept(report: Report) -> str:
    lines = [f"- `{ref}`" for ref in report.kept[:LISTED]] + _and_more(len(report.kept))
    return f"Kept aside in control.git on {socket.gethostname()}:\n\n" + "\n".join(lines)


def _dropped(dropped: Sequence[Dropped]) -> str:
    lines = [f"- `{_plain(one.path)}`: {one.why}" for one in dropped[:LISTED]] + _and_more(len(dropped))
    return "Not taken over of what the agent wrote to the tracker:\n\n" + "\n".join(lines)


def _spent(run: RunSection | None) -> str:
    if run is None:
        return ""
    words = [_duration(run.started_at, run.ended_at), *_usage(run.usage)]
    return f"Spent: {', '.join(filter(None, words))}." if any(words) else ""


def _usage(usage: Usage) -> Iterator[str]:
    if usage.input_tokens is not None:
        cached = f" (and {usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
        yield f"{usage.input_tokens:,} tokens in{cached}"
    if usage.output_tokens is not None:
        yield f"{usage.output_tokens:,} tokens out"
    if usage.cost_usd is not None:
        yield f"{usage.cost_usd:.2f} USD"


def _duration(started_at: str, ended_at: str) -> str:
    """`1 h 2 min`, `3 min 4 s`, `5 s`; "" when one of the times is not known."""
    if not (started_at and ended_at):
        return ""
    length = datetime.fromisoformat(ended_at) - datetime.fromisoformat(started_at)
    minutes, seconds = divmod(max(int(length.total_seconds()), 0), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _and_more(count: int) -> list[str]:
    return [f"- and {count - LISTED} more"] if count > LISTED else []


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _sentence(text: str) -> str:
    return text.rstrip(".") + "."


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines())


def _plain(text: str) -> str:
    """A name on one line, without control characters or what would end its quotes."""
    return "".join("?" if unicodedata.category(c).startswith("C") or c in "`'" else c for c in text)
