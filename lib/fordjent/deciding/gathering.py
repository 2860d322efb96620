"""The facts about one event: from the database, and from the forge where an answer could matter."""

from __future__ import annotations

import time

import msgspec

from fordjent.config import Config
from fordjent.context import Context
from fordjent.deciding.actions import Feed
from fordjent.deciding.decide import decide
from fordjent.deciding.event import Event
from fordjent.deciding.facts import Facts
from fordjent.deciding.questions import Identity, Questions
from fordjent.store import known
from fordjent.store.known import Known


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
    if event.review and any(isinstance(action, Feed) for action in decide(event, facts)):
        review, told = await questions.review(event, found.reviews)
        facts = msgspec.structs.replace(facts, review=review, review_told=told)
    return facts


def from_known(config: Config, found: Known, identity: Identity) -> Facts:
    """All but what the forge has to be asked for each event: the sender may do nothing."""
    limit, starts = config.sessions.max_runs_per_hour, found.run_starts
    return Facts(
        bot_logins=identity.bot_logins,
        reviewer_login=identity.reviewer_login,
        allowed_senders=frozenset(login.casefold() for login in config.forgejo.allowed_senders),
        ours=found.ours,
        is_pull=found.is_pull,
        labels_before=found.issue.labels if found.issue else None,
        assignees_before=found.issue.assignees if found.issue else None,
        session_role=found.session_role,
        author_role=found.author_role,
        head_message=found.head_message,
        default_branch=found.default_branch,
        protected_branches=frozenset(config.policy.protected_branches),
        commit_prefix=config.agent.commit_prefix,
        require_role=config.sessions.require_role,
        max_runs_per_hour=limit,
        runs_last_hour=len(starts),
        held_until=starts[-limit] + known.HOUR if len(starts) >= limit else 0.0,
    )
