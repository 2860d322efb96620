"""What keeps the bot from working for itself without end: layers, each enough where it applies.

The breaker comes last and does not ask who it was: beyond so many runs an hour a session waits.
"""

from __future__ import annotations

from collections.abc import Callable

from fordjent.deciding.event import Event
from fordjent.deciding.facts import Facts


def stops(event: Event, facts: Facts) -> str:
    """Why this event is no word of a person; "": it may be one."""
    return next((why for why, applies in LAYERS if applies(event, facts)), "")


def held_until(facts: Facts) -> float:
    """When the breaker lets the session run again, in seconds since 1970; 0: it may run now."""
    return facts.held_until if facts.runs_last_hour >= facts.max_runs_per_hour else 0.0


def _marked(event: Event, facts: Facts) -> bool:
    return event.comment is not None and facts.ours


def _by_bot(event: Event, facts: Facts) -> bool:
    written = event.comment.author if event.comment else event.sender
    return facts.is_bot(event.sender) or facts.is_bot(written)


def _automated(event: Event, facts: Facts) -> bool:
    is_new_head = event.subject == "pull" and event.action == "synchronized"
    return is_new_head and bool(facts.commit_prefix) and facts.head_message.startswith(facts.commit_prefix)


LAYERS: tuple[tuple[str, Callable[[Event, Facts], bool]], ...] = (
    ("the comment is one of ours", _marked),
    ("by the bot itself", _by_bot),
    ("the new head is a commit of the bot's", _automated),
)
"""A marker that a person quotes is not among them: `Facts.ours` says whether we wrote this very comment."""
