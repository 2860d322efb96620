"""The facts about one event: from the database, and from the forge where an answer could matter."""

from __future__ import annotations

import time

import msgspec

from fordjent.context import Context
from fordjent.deciding.actions import Action, Feed
from fordjent.deciding.decide import decide
from fordjent.deciding.event import Event
from fordjent.deciding.facts import Facts, from_known
from fordjent.deciding.questions import Questions
from fordjent.session_key import SessionKey
from fordjent.store import known


def is_beginning(action: Action) -> bool:
    """Whether it would have a session on an issue work."""
    return isinstance(action, Feed) and not SessionKey.parse(action.key).is_pull


async def gather(context: Context, questions: Questions, event: Event) -> Facts:
    """
    Raises:
        TryLater: the forge has to be asked, and does not answer.
        NotAllowed: it does not let us ask.
    """
    found = await context.database.read(known.of_event, event, time.time())
    if event.number and found.is_pull is None and event.subject == "comment":
        is_pull = await questions.is_pull(event.repository, event.number)
        event = msgspec.structs.replace(event, is_pull=is_pull)
        found = await context.database.read(known.of_event, event, time.time())
    facts = from_known(context.config, found, await questions.identity())
    allowed = msgspec.structs.replace(facts, permission="write")
    if decide(event, facts) == decide(event, allowed):
        return facts
    permission = await questions.permission(event.repository, event.sender)
    facts = msgspec.structs.replace(facts, permission=permission)
    if any(is_beginning(action) for action in decide(event, facts)) and not facts.session_role:
        waits_for = await questions.waits_for(event.repository, event.number, event.body)
        is_empty = await questions.is_empty(event.repository)
        facts = msgspec.structs.replace(facts, waits_for=waits_for, is_empty=is_empty)
    if event.review and any(isinstance(action, Feed) for action in decide(event, facts)):
        review, told = await questions.review(event, found.reviews)
        facts = msgspec.structs.replace(facts, review=review, review_told=told)
    return facts
