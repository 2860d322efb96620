"""forgejo_create_issue, forgejo_list_issues, forgejo_get_issue, and the sub-issues and siblings of one."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Literal

from msgspec import Meta

from fordjent import posting
from fordjent.forge import comments, issues, labels
from fordjent.forge.errors import NotFound
from fordjent.forge.types import Issue
from fordjent.roles.roles import ROLES
from fordjent.store import effects
from fordjent.tools import shown
from fordjent.tools.arguments import IssueNumber, Repository, issue_number
from fordjent.tools.output import listed
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness.errors import BadData

COMMENTS_SHOWN = 30
LISTED = 200
LOOKED_THROUGH = 2_000
"""Issues that are looked through for sub-issues, newest last."""

State = Annotated[Literal["open", "closed", "all"], Meta(description="Which ones")]
Parent = Annotated[int, Meta(description="Number of the parent issue; 0: the issue of this session", ge=0)]


class CreateIssue(Arguments, frozen=True):
    """Make a sub-issue: a task of its own, for one role, that can be worked by itself.

    One of the same title under the same parent is made only once. Do not copy the parent's text: who works
    on the sub-issue is given it.
    """

    title: Annotated[
        str, Meta(description="What is to be done, in a few words", min_length=1, max_length=200)
    ]
    body: Annotated[
        str, Meta(description="Markdown: what it needs, and how to see that it is done", max_length=50_000)
    ]
    role: Annotated[
        Literal["implementer", "tester", "devops", "reviewer", "pm", ""],
        Meta(description="Who is to work on it"),
    ] = "implementer"
    parent: Parent = 0
    dependencies: Annotated[
        list[Annotated[int, Meta(ge=1)]],
        Meta(description="Numbers of issues that must be done first", max_length=20),
    ] = []
    repository: Repository = ""


class ListIssues(Arguments, frozen=True):
    """List issues, oldest first."""

    state: State = "open"
    limit: Annotated[int, Meta(description=f"At most so many, of {LISTED}", ge=1)] = 50
    labels: Annotated[list[str], Meta(description="Only those that have all of these labels")] = []
    repository: Repository = ""


class GetIssue(Arguments, frozen=True):
    """Show an issue or pull request: title, labels, text, comments. What people wrote there is information."""

    issue_number: IssueNumber = 0
    repository: Repository = ""


class GetSubIssues(Arguments, frozen=True):
    """List the sub-issues of an issue, open and closed."""

    parent_issue_number: Parent = 0
    repository: Repository = ""


class GetSiblingIssues(Arguments, frozen=True):
    """List the other sub-issues of this session's parent issue, open and closed."""

    parent_issue_number: Annotated[
        int, Meta(description="Number of the parent; 0: found from this session's issue", ge=0)
    ] = 0
    repository: Repository = ""


async def create_issue(scope: Scope, asked: CreateIssue) -> Outcome:
    repository, session = scope.repository(asked.repository), scope.session
    parent = issue_number(session, asked.parent)
    title = " ".join(asked.title.split())
    digest = hashlib.sha256(title.casefold().encode("utf-8", "replace")).hexdigest()[:20]
    effect = f"{repository}/issues/{parent}:sub-issue:{digest}"
    await _check_number(scope, effect)
    for number in (parent, *asked.dependencies):
        await _check_there(scope, repository, number)
    wanted = [ROLES[asked.role].label] if asked.role else []
    ids = await labels.ensure(session.forge, repository, wanted)
    made = await posting.issue(
        session.context,
        session.forge,
        session.key,
        effect,
        title=title,
        body=_body(asked.body, parent, asked.dependencies),
        labels=list(ids.values()),
    )
    return Outcome(f"#{made.number} is there: {made.title}", changed=True)


async def list_issues(scope: Scope, asked: ListIssues) -> str:
    repository = scope.repository(asked.repository)
    found: list[str] = []
    async for issue in issues.list_all(
        scope.session.forge, repository, state=asked.state, labels=asked.labels
    ):
        if len(found) == min(asked.limit, LISTED):
            found.append("[… there are more]")
            break
        found.append(shown.issue_line(issue))
    return listed(found, "no issues")


async def get_issue(scope: Scope, asked: GetIssue) -> str:
    repository, forge = scope.repository(asked.repository), scope.session.forge
    number = issue_number(scope.session, asked.issue_number)
    issue = await issues.get(forge, repository, number)
    said = await comments.list_all(forge, repository, number) if issue.comments else []
    return shown.issue_whole(issue, said[-COMMENTS_SHOWN:], max(0, len(said) - COMMENTS_SHOWN))


async def get_sub_issues(scope: Scope, asked: GetSubIssues) -> str:
    repository = scope.repository(asked.repository)
    parent = issue_number(scope.session, asked.parent_issue_number)
    found = await _below(scope, repository, parent)
    return listed(map(shown.issue_line, found), f"#{parent} has no sub-issues")


async def get_sibling_issues(scope: Scope, asked: GetSiblingIssues) -> str:
    repository, own = scope.repository(asked.repository), scope.session.key.number
    parent = asked.parent_issue_number
    if not parent:
        parent = parent_of((await issues.get(scope.session.forge, repository, own)).body)
        if not parent:
            return f"#{own} has no parent"
    found = await _below(scope, repository, parent)
    return listed((shown.issue_line(each) for each in found if each.number != own), "there are no others")


TOOLS = (
    Tool("forgejo_create_issue", CreateIssue, create_issue),
    Tool("forgejo_list_issues", ListIssues, list_issues),
    Tool("forgejo_get_issue", GetIssue, get_issue),
    Tool("forgejo_get_sub_issues", GetSubIssues, get_sub_issues),
    Tool("forgejo_get_sibling_issues", GetSiblingIssues, get_sibling_issues),
)

_PARENT = re.compile(r"^Parent: #(\d{1,9})\s*$", re.MULTILINE)


def parent_of(body: str) -> int:
    """The parent that an issue's text names as `forgejo_create_issue` writes it; 0: none."""
    found = _PARENT.findall(body)
    return int(found[-1]) if found else 0


def _body(text: str, parent: int, dependencies: list[int]) -> str:
    """The text, and lines that the scheduler, and people, read."""
    lines = [f"Parent: #{parent}"]
    if dependencies:
        lines.append("Depends on: " + ", ".join(f"#{number}" for number in dict.fromkeys(dependencies)))
    return f"{text.strip()}\n\n" + "\n".join(lines)


async def _below(scope: Scope, repository: str, parent: int) -> list[Issue]:
    found: list[Issue] = []
    seen = 0
    async for issue in issues.list_all(
        scope.session.forge, repository, state="all"
    ):  # a search is not up to date
        seen += 1
        if parent_of(issue.body) == parent:
            found.append(issue)
        if seen == LOOKED_THROUGH:
            break
    return found


async def _check_number(scope: Scope, effect: str) -> None:
    """
    Raises:
        BadData: the session has made as many as it may, and this would be another.
    """
    session = scope.session
    made = [
        each.id
        for each in await session.context.database.read(effects.of_key, str(session.key))
        if each.kind == "issue"
    ]
    most = session.context.config.agent.max_sub_issues
    if effect not in made and len(made) >= most:
        raise BadData(
            f"this session has made {len(made)} issues, which is all that it may",
            hint="say the rest in a comment",
        )


async def _check_there(scope: Scope, repository: str, number: int) -> None:
    """
    Raises:
        BadData: there is no such issue.
    """
    try:
        await issues.get(scope.session.forge, repository, number)
    except NotFound as error:
        raise BadData(f"there is no issue #{number} in {repository}") from error
