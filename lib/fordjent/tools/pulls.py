"""forgejo_create_pr, forgejo_merge_pr, forgejo_review, and what shows pull requests."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fordjent import posting
from fordjent.forge import pulls, reviews
from fordjent.session_key import SessionKey
from fordjent.tools import shown
from fordjent.tools.arguments import PullNumber, Repository, pull_number
from fordjent.tools.output import CAP, listed
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness.errors import BadData

DIFF_BYTES = 200_000
LISTED = 200


class ListPulls(Arguments, frozen=True):
    """List pull requests, oldest first."""

    state: Annotated[
        Literal["open", "closed", "all"], Meta(description="Which ones; merged ones are closed")
    ] = "open"
    repository: Repository = ""


class PullFiles(Arguments, frozen=True):
    """List the files that a pull request changes, with numbers of lines."""

    pr_number: PullNumber = 0
    repository: Repository = ""


class PullDiff(Arguments, frozen=True):
    """Show the changes of a pull request, as a diff: of all files, or of one."""

    pr_number: PullNumber = 0
    path: Annotated[str, Meta(description='Only this file; "": all')] = ""
    repository: Repository = ""


class InlineRemark(Arguments, frozen=True):
    """A remark at a line of a file."""

    path: Annotated[str, Meta(description="The file", min_length=1)]
    body: Annotated[str, Meta(description="Markdown", min_length=1, max_length=20_000)]
    line: Annotated[int, Meta(description="Line in the new file; 0: it is gone there", ge=0)] = 0
    old_line: Annotated[
        int, Meta(description="Line in the old file, where it is gone from the new one", ge=0)
    ] = 0


class Review(Arguments, frozen=True):
    """Submit a review of a pull request: one verdict, with remarks at lines where they help."""

    event: Annotated[
        Literal["APPROVED", "REQUEST_CHANGES", "COMMENT"],
        Meta(description="The verdict; of your own pull request only COMMENT is possible"),
    ]
    body: Annotated[str, Meta(description="Markdown: what you found", min_length=1, max_length=60_000)]
    comments: Annotated[list[InlineRemark], Meta(description="Remarks at lines", max_length=100)] = []
    pr_number: PullNumber = 0
    repository: Repository = ""


async def list_prs(scope: Scope, asked: ListPulls) -> str:
    repository = scope.repository(asked.repository)
    found: list[str] = []
    async for pull in pulls.list_all(scope.session.forge, repository, state=asked.state):
        if len(found) == LISTED:
            found.append("[… there are more]")
            break
        found.append(shown.pull_line(pull))
    return listed(found, "no pull requests")


async def pr_files(scope: Scope, asked: PullFiles) -> str:
    repository = scope.repository(asked.repository)
    number = pull_number(scope.session, asked.pr_number)
    found = await pulls.files(scope.session.forge, repository, number)
    lines = (
        f"{each.status or 'changed'} {each.filename} (+{each.additions} -{each.deletions})" for each in found
    )
    return listed(lines, f"#{number} changes no files")


async def pr_diff(scope: Scope, asked: PullDiff) -> str:
    repository = scope.repository(asked.repository)
    number = pull_number(scope.session, asked.pr_number)
    diff, more = await pulls.diff(
        scope.session.forge, repository, number, 50 * DIFF_BYTES if asked.path else DIFF_BYTES
    )
    if asked.path:
        diff = _of_file(diff, asked.path)
        return diff or f"#{number} does not change {asked.path}"
    note = "\n[… the diff is longer: ask for single files with `path`]" if more or len(diff) > CAP else ""
    return (diff or f"#{number} changes nothing") + note


async def review(scope: Scope, asked: Review) -> Outcome:
    repository, session = scope.repository(asked.repository), scope.session
    number = pull_number(session, asked.pr_number)
    for remark in asked.comments:
        if bool(remark.line) == bool(remark.old_line):
            raise BadData(f"comments: {remark.path}: give either `line` or `old_line`")
    pull = await pulls.get(session.forge, repository, number)
    made = await posting.review(
        session.context,
        session.forge,
        SessionKey(repository, "pulls", number),
        scope.effect,
        event=asked.event,
        body=asked.body,
        remarks=[
            reviews.Remark(path=each.path, body=each.body, new_position=each.line, old_position=each.old_line)
            for each in asked.comments
        ],
        commit=pull.head.sha,
    )
    return Outcome(f"review {made.id} of #{number} is submitted: {made.state or asked.event}", changed=True)


TOOLS = (
    Tool("forgejo_list_prs", ListPulls, list_prs),
    Tool("forgejo_pr_files", PullFiles, pr_files),
    Tool("forgejo_pr_diff", PullDiff, pr_diff),
    Tool("forgejo_review", Review, review),
)


def _of_file(diff: str, path: str) -> str:
    """The part of a diff that is about one file."""
    parts = ("\n" + diff).split("\ndiff --git ")[1:]
    heads = (f"a/{path} ", f" b/{path}")
    found = [
        part
        for part in parts
        if heads[0] in part.split("\n", 1)[0] or part.split("\n", 1)[0].endswith(heads[1])
    ]
    return "\n".join(f"diff --git {part}" for part in found)
