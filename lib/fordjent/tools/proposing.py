"""forgejo_create_pr and forgejo_merge_pr: through the gates, and by the policy."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fordjent.forge import pulls
from fordjent.tools.arguments import PullNumber, Repository, pull_number
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness.errors import BadData

Style = Literal["merge", "rebase", "rebase-merge", "squash", "fast-forward-only", ""]


class CreatePull(Arguments, frozen=True):
    """Hand your work over: the branch is checked, verified, pushed, and a pull request opened from it.

    Commit everything first. What is in the way is told; mend it and call this again. Your work ends with it.
    """

    title: Annotated[
        str, Meta(description="What the change does, in a few words", min_length=1, max_length=250)
    ]
    body: Annotated[
        str, Meta(description="Markdown: what was done and why, and how it was checked", max_length=60_000)
    ] = ""
    head: Annotated[str, Meta(description="The branch; this session's own, and may be left out")] = ""
    base: Annotated[str, Meta(description="Where it is to be merged; may be left out")] = ""
    repository: Repository = ""


class MergePull(Arguments, frozen=True):
    """Merge a pull request, where the policy of this installation lets agents do that."""

    pr_number: PullNumber = 0
    style: Annotated[Style, Meta(description='How; "": as the repository has it')] = ""
    repository: Repository = ""


async def create_pr(scope: Scope, asked: CreatePull) -> Outcome:
    from fordjent.gates import pull_requests
    from fordjent.gates.gate import Blocked, Proposal

    scope.repository(asked.repository)
    session = scope.session
    if session.place is None:
        raise BadData("this session has no branch of its own to propose")
    verdict = await pull_requests.propose(
        Proposal(
            context=session.context,
            forge=session.forge,
            place=session.place,
            run=scope.run,
            title=asked.title,
            body=asked.body,
            effect=scope.effect,
            head=asked.head,
            base=asked.base,
            person=session.person,
        )
    )
    if isinstance(verdict, Blocked):
        return Outcome(f"Not opened, by the gate `{verdict.gate}`: {verdict}", failed=True)
    return Outcome(str(verdict), ends=True, changed=True)


async def merge_pr(scope: Scope, asked: MergePull) -> Outcome:
    from fordjent.gates import merging

    repository, session = scope.repository(asked.repository), scope.session
    number = pull_number(session, asked.pr_number)
    if session.context.config.policy.merge != "auto":
        raise BadData(
            "people merge here, agents do not", hint="say in a comment that it is ready to be merged"
        )
    pull = await pulls.get(session.forge, repository, number)
    if pull.merged:
        return Outcome(f"#{number} is merged already")
    done = await merging.merge(
        session.context, repository, number, pull.head.sha, style=asked.style, forge=session.forge
    )
    if isinstance(done, merging.NotMerged):
        hint = " Its branch has to be brought up to its base first." if done.conflict else ""
        return Outcome(f"#{number} is not merged: {done.reason}{hint}", failed=True)
    return Outcome(f"#{number} is merged ({done.style}): {done.commit}", changed=True)


TOOLS = (
    Tool("forgejo_create_pr", CreatePull, create_pr),
    Tool("forgejo_merge_pr", MergePull, merge_pr),
)
