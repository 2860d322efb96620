"""What an event starts: one table. What is not in it is remembered and starts nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from fordjent.deciding import addressing, loops, telling
from fordjent.deciding.actions import (
    Action,
    Cancel,
    Close,
    Feed,
    Guide,
    Hold,
    Input,
    Lay,
    Nothing,
    Remember,
    Reschedule,
    RetryMerges,
)
from fordjent.deciding.event import Event
from fordjent.deciding.facts import Facts
from fordjent.memory.naming import BRANCH as MEMORY
from fordjent.roles.guidance import NEEDS_ROLE
from fordjent.roles.roles import ROLES, detect
from fordjent.scheduling import references
from fordjent.scheduling.ground import SCAFFOLD_TAG

BLOCKED = "blocked"
TRIGGERS = ("ready", "plan-approved")
"""Labels that start an issue when a person sets them, a blocked one too."""

_HEADS = ("pull.opened", "pull.synchronized")

Who = Literal["people", "people or the bot", "people or the bot for its reviewer", "anyone"]
"""people: those with write access, and `allowed_senders`; never a bot's login."""


def decide(event: Event, facts: Facts) -> list[Action]:
    """The actions, never none. Pure: the same answer whenever it is asked."""
    known = _remember(event, facts)
    rule = RULES.get(event.name)
    if rule is None:
        return [*known, Nothing(reason=f"{event.name} starts nothing")]
    why_not = _refused(rule.who, event, facts)
    if why_not:
        return [*known, Nothing(reason=why_not, own=bool(loops.stops(event, facts)))]
    return [*known, *rule.then(event, facts)]


# ---- what each event does


def _start(event: Event, facts: Facts) -> list[Action]:
    """An issue that waits for others waits; it is begun when `ready` is set."""
    if BLOCKED in event.labels:
        return [Nothing(reason=f"waits: labelled {BLOCKED}")]
    return _feed(event, facts, telling.opened(event))


def _labelled(event: Event, facts: Facts) -> list[Action]:
    """Which label was set is told by those that were there before. Of an issue never seen, a role may be old."""
    if event.state != "open":
        return [Nothing(reason=f"the issue is {event.state}")]
    before = facts.labels_before or ()
    new = [name for name in TRIGGERS if name in event.labels and name not in before]
    lacked_role = facts.labels_before is not None and detect(event.title, before) is None
    gained = detect("", [name for name in event.labels if name not in before])
    if gained and lacked_role and BLOCKED not in event.labels:
        new.append(gained.label)
    if facts.waits and BLOCKED in before and BLOCKED not in event.labels:
        if not facts.blocked_by_us:  # a person's own held it as well
            return [Reschedule(repository=event.repository)]
        return _feed(event, facts, telling.unblocked(event), by_hand=True)
    if not new:
        return [Nothing(reason="no label was set that starts anything")]
    by_hand = any(name in TRIGGERS for name in new)
    return _feed(event, facts, telling.labels_set(event, new), by_hand=by_hand)


def _heard(event: Event, facts: Facts) -> list[Action]:
    """A comment, or a review, of a person."""
    if event.state != "open":
        return [Nothing(reason=f"the {_noun(event, facts)} is {event.state}")]
    waits = (BLOCKED in event.labels or facts.waits) and not facts.session_role
    if waits and not addressing.is_pull(event, facts):
        return [Nothing(reason=f"waits: labelled {BLOCKED}; `{TRIGGERS[0]}` begins it")]
    if facts.review_told:
        return [Nothing(reason="this review was told already")]
    told = telling.review(event, facts) if event.review else telling.comment(event)
    return _feed(event, facts, told)


def _look_at(event: Event, facts: Facts) -> list[Action]:
    """A pull request, or its new head, is for the reviewer."""
    assert event.pull
    if event.state != "open":
        return [Nothing(reason=f"the pull request is {event.state}")]
    if event.pull.draft:
        return [Nothing(reason="the pull request is a draft")]
    if event.action == "edited" and not event.pull.was_draft:
        return [Nothing(reason="the pull request was edited")]
    return _feed(event, facts, telling.new_head(event), addressing.REVIEWER)


def _issue_closed(event: Event, facts: Facts) -> list[Action]:
    key = str(addressing.key(event, facts))
    by_bot = facts.is_bot(event.sender)  # its own run may have closed it, and ends by itself
    over: Action = Close(key=key) if by_bot else Cancel(key=key, reason=f"closed by {event.sender}")
    return [over, Reschedule(repository=event.repository)]


def _pull_closed(event: Event, facts: Facts) -> list[Action]:
    return [*_issue_closed(event, facts), RetryMerges(repository=event.repository)]


def _edited(event: Event, facts: Facts) -> list[Action]:
    """Its text may say now that it depends on others, or no longer."""
    return [Reschedule(repository=event.repository)] if facts.waits else [Nothing(reason="it was edited")]


def _reopened(event: Event, facts: Facts) -> list[Action]:
    return [Reschedule(repository=event.repository)]


def _assigned(event: Event, facts: Facts) -> list[Action]:
    """Taken from the bot, or by somebody else: then the bot stops. People assigned from the start are no sign."""
    before = set(facts.assignees_before or ())
    now = set(event.assignees)
    had = any(facts.is_bot(login) for login in before)
    has = any(facts.is_bot(login) for login in now)
    others = sorted(now - before)
    if has or not (had or others):
        return [Nothing(reason="still the bot's")]
    to = f"to {', '.join(others)}" if others else "away"
    return [Cancel(key=str(addressing.key(event, facts)), reason=f"reassigned {to} by {event.sender}")]


def _pushed(event: Event, facts: Facts) -> list[Action]:
    """Whoever pushed: a merge of the bot's moves the default branch too."""
    if event.ref != f"refs/heads/{event.default_branch or facts.default_branch}":
        return [Nothing(reason="not the default branch")]
    return [Reschedule(repository=event.repository)]


class Rule(NamedTuple):
    who: Who
    then: Callable[[Event, Facts], list[Action]]


RULES: dict[str, Rule] = {
    "issue.opened": Rule("people or the bot", _start),
    "issue.label_updated": Rule("people", _labelled),
    "comment.created": Rule("people", _heard),
    "review.reviewed": Rule("people", _heard),
    "pull.opened": Rule("people or the bot for its reviewer", _look_at),
    "pull.synchronized": Rule("people or the bot for its reviewer", _look_at),
    "pull.edited": Rule("people or the bot for its reviewer", _look_at),
    "pull.merged": Rule("anyone", _pull_closed),
    "pull.closed": Rule("anyone", _pull_closed),
    "pull.reopened": Rule("anyone", _reopened),
    "issue.closed": Rule("anyone", _issue_closed),
    "issue.edited": Rule("anyone", _edited),
    "issue.reopened": Rule("anyone", _reopened),
    "issue.assigned": Rule("people", _assigned),
    "issue.unassigned": Rule("people", _assigned),
    "push": Rule("anyone", _pushed),
}


# ---- who may


def _refused(who: Who, event: Event, facts: Facts) -> str:
    """Why this sender cannot; "": may."""
    if who == "anyone":
        return ""
    if who == "people or the bot for its reviewer":
        return _no_review(event, facts)
    if who == "people or the bot" and facts.is_bot(event.sender):
        return ""
    return loops.stops(event, facts) or _no_access(event, facts)


def _no_review(event: Event, facts: Facts) -> str:
    """The bot's own pull request is reviewed only by a reviewer with a login of its own."""
    if not facts.is_bot(event.author):
        return loops.stops(event, facts) or _no_access(event, facts)
    if event.pull and event.pull.head == MEMORY:
        return "the bot's pull request of summaries"
    apart = facts.reviewer_login and facts.reviewer_login.casefold() != event.author.casefold()
    if not apart or facts.reviewer_login.casefold() == event.sender.casefold():
        return "the bot's own pull request"
    return "" if facts.is_bot(event.sender) else _no_access(event, facts)


def _no_access(event: Event, facts: Facts) -> str:
    return "" if facts.may_start(event.sender) else f"{event.sender or 'nobody'} has no write access"


# ---- what is handed on


def _feed(event: Event, facts: Facts, told: Input, role: str = "", *, by_hand: bool = False) -> list[Action]:
    """`by_hand`: a person has it begun, whatever it depends on."""
    key = str(addressing.key(event, facts))
    role = role or addressing.role(event, facts)
    if not role:
        guided = NEEDS_ROLE in event.labels
        return [Nothing(reason=f"labelled {NEEDS_ROLE} already") if guided else Guide(key=key)]
    by_person = not facts.is_bot(event.sender)
    lays = _lays_ground(event, facts)
    needs_ground = facts.is_empty and ROLES[role].writes_code and not lays
    begins = not facts.session_role and not addressing.is_pull(event, facts)
    if begins and (needs_ground or (facts.waits_for and not by_hand)):
        hold = Hold(key=key, role=role, input=told, by_person=by_person, waits_for=facts.waits_for)
        return [hold, Reschedule(repository=event.repository)]
    pull = event.pull
    feed = Feed(
        key=key,
        role=role,
        input=told,
        by_person=by_person,
        branch=pull.head if pull else "",
        base=pull.base if pull else "",
        pull=event.number if addressing.is_pull(event, facts) else 0,
        not_before=loops.held_until(facts),
    )
    return [Lay(repository=event.repository, number=event.number), feed] if lays else [feed]


def _lays_ground(event: Event, facts: Facts) -> bool:
    """Whether it makes the first commit of an empty repository: one issue does, and says so in its title."""
    if not facts.is_empty or facts.scaffold not in (0, event.number):
        return False
    return facts.scaffold == event.number or SCAFFOLD_TAG in event.title.casefold()


def _remember(event: Event, facts: Facts) -> list[Action]:
    """Whoever it was: the next label event is understood by what is stored of this one."""
    if not event.number or event.subject in ("push", "other"):
        return []
    return [
        Remember(
            repository=event.repository,
            number=event.number,
            is_pull=addressing.is_pull(event, facts),
            labels=event.labels,
            assignees=event.assignees,
            state=event.state,
            title=event.title,
            author=event.author,
            parent=references.parent(event.body, event.repository),
            head=event.pull.head if event.pull else "",
            head_commit=event.pull.head_commit if event.pull and event.name in _HEADS else "",
        )
    ]


def _noun(event: Event, facts: Facts) -> str:
    return "pull request" if addressing.is_pull(event, facts) else "issue"
