"""forgejo_comment, forgejo_add_reaction and forgejo_labels."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fordjent import posting
from fordjent.forge import labels, reactions
from fordjent.session_key import SessionKey
from fordjent.store import tool_calls
from fordjent.tools.arguments import IssueNumber, Repository, issue_number
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness.errors import BadData

MOST_COMMENTS = 5
"""Of one run: what more there is to say belongs into one of them."""

KEPT_LABELS = frozenset(
    ("in_progress", "blocked", "ready", "review", "needs-role", "plan-approved", "approved", "automerge")
)
KEPT_PREFIX = "fordjent/"


class PostComment(Arguments, frozen=True):
    """Write a comment that people read. Say what you found or did in one comment, and do not repeat yourself."""

    body: Annotated[str, Meta(description="Markdown", min_length=1, max_length=60_000)]
    issue_number: IssueNumber = 0
    repository: Repository = ""


class AddReaction(Arguments, frozen=True):
    """React to an issue, a pull request or a comment."""

    reaction: Annotated[
        str,
        Meta(
            description="e.g. +1, -1, heart, rocket, eyes, hooray, confused, laugh",
            min_length=1,
            max_length=50,
        ),
    ]
    issue_number: IssueNumber = 0
    comment_id: Annotated[int, Meta(description="The comment; 0: the issue itself", ge=0)] = 0
    repository: Repository = ""


class ChangeLabels(Arguments, frozen=True):
    """Set labels of an issue or pull request, or take them off; others stay. Labels of state are not for you to set."""

    issue_number: IssueNumber = 0
    add: Annotated[
        list[str], Meta(description="Names of labels to set, that the repository has", max_length=20)
    ] = []
    remove: Annotated[list[str], Meta(description="Names of labels to take off", max_length=20)] = []
    repository: Repository = ""


async def comment(scope: Scope, asked: PostComment) -> Outcome:
    repository, session = scope.repository(asked.repository), scope.session
    if not asked.body.strip():
        raise BadData("body: is empty")
    written = await session.context.database.read(
        tool_calls.count, str(session.key), scope.run, "forgejo_comment"
    )
    if written >= MOST_COMMENTS:
        raise BadData(f"this run has written {written} comments, which is all that it may")
    number = issue_number(session, asked.issue_number)
    place = session.key if number == session.key.number else SessionKey(repository, "issues", number)
    posted = await posting.comment(session.context, session.forge, place, scope.effect, asked.body)
    return Outcome(f"comment {posted.id} stands on #{number}", changed=True)


async def add_reaction(scope: Scope, asked: AddReaction) -> Outcome:
    repository = scope.repository(asked.repository)
    number = issue_number(scope.session, asked.issue_number)
    made = await reactions.add(
        scope.session.forge, repository, number, asked.reaction, comment_id=asked.comment_id
    )
    if made is None:
        allowed = ", ".join(sorted(await reactions.allowed(scope.session.forge)))
        raise BadData(f"this server has no reaction like {asked.reaction!r}", hint=f"it has {allowed}")
    return Outcome(f"reacted with {made.content}")


async def change_labels(scope: Scope, asked: ChangeLabels) -> Outcome:
    repository, forge = scope.repository(asked.repository), scope.session.forge
    number = issue_number(scope.session, asked.issue_number)
    for name in (*asked.add, *asked.remove):
        if name.casefold() in KEPT_LABELS or name.casefold().startswith(KEPT_PREFIX):
            raise BadData(f"the label {name!r} is set by people, or follows the state of the work by itself")
    known = await labels.ids(forge, repository)
    if strange := [name for name in asked.add if name not in known]:
        raise BadData(f"no such labels: {', '.join(strange)}", hint=f"there are {', '.join(sorted(known))}")
    now = await labels.change(forge, repository, number, on=asked.add, off=asked.remove)
    return Outcome(
        f"#{number} has the labels {', '.join(label.name for label in now) or '(none)'}", changed=True
    )


TOOLS = (
    Tool("forgejo_comment", PostComment, comment),
    Tool("forgejo_add_reaction", AddReaction, add_reaction),
    Tool("forgejo_labels", ChangeLabels, change_labels),
)
