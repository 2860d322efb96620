"""Which session an event belongs to, and as what that session works."""

from __future__ import annotations

from fordjent.deciding.event import Event
from fordjent.deciding.facts import Facts
from fordjent.roles.roles import DEFAULT, detect
from fordjent.session_key import Kind, SessionKey

REVIEWER = "reviewer"


def key(event: Event, facts: Facts) -> SessionKey:
    """`owner/repo/pulls/7` for whatever is about a pull request, its comments too."""
    kind: Kind = "pulls" if is_pull(event, facts) else "issues"
    return SessionKey(event.repository, kind, event.number)


def is_pull(event: Event, facts: Facts) -> bool:
    """As the event says; where it does not, as the forge was asked."""
    return bool(facts.is_pull if event.is_pull is None else event.is_pull)


def role(event: Event, facts: Facts) -> str:
    """What the session acts as; "": the issue names no role, and has to.

    Feedback on the bot's own pull request goes to its author, who can change it; anybody
    else's is for the reviewer, who cannot write. The author never gets a protected branch.
    """
    if is_pull(event, facts):
        head = event.pull.head if event.pull else ""
        is_protected = facts.is_protected(head) or head == event.default_branch
        return facts.author_role if facts.is_bot(event.author) and not is_protected else REVIEWER
    named = detect(event.title, event.labels)
    if named:
        return named.name
    return facts.session_role or ("" if facts.require_role else DEFAULT)
