"""The checks of a commit that the repository's own CI reports: whether they are over, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from fordjent.forge import statuses
from fordjent.forge.forge import Forge
from fordjent.forge.types import Status
from harness.git import Git

Verdict = Literal["passed", "failed", "pending", "none", "late"]
"""none: there are none, and none can be expected; late: they were waited for as long as is allowed."""

GRACE_SECONDS = 60.0
"""For the first check to be reported, where the repository has some."""
LISTED = 10

FAILED = ("failure", "error")
PENDING = ("pending", "")

WORKFLOWS = (
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/workflows",
    ".woodpecker",
    ".woodpecker.yml",
    ".woodpecker.yaml",
    ".drone.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
)
"""Where what runs for each commit is written down."""


class Checks(msgspec.Struct, frozen=True):
    """The last status of each context, of one commit."""

    commit: str
    found: tuple[Status, ...] = ()

    @property
    def failed(self) -> list[Status]:
        return [one for one in self.found if one.status in FAILED]

    @property
    def pending(self) -> list[Status]:
        return [one for one in self.found if one.status in PENDING]

    def why_not_ready(self) -> str:
        """ "": nothing is in the way."""
        if self.failed:
            return f"checks have failed: {names(self.failed)}"
        return f"checks are still running: {names(self.pending)}" if self.pending else ""


async def ask(forge: Forge, repository: str, commit: str) -> Checks:
    """
    Raises:
        ForgeError: the forge does not say.
    """
    return Checks(commit, tuple(await statuses.latest(forge, repository, commit)))


def judge(checks: Checks, *, waited_seconds: float, timeout_seconds: float, expected: bool) -> Verdict:
    """`expected`: the repository has checks, so that a commit without any is one whose checks are not reported yet.

    One that has failed is told when the others are over too: then all of them can be mended at once.
    """
    is_over = waited_seconds >= timeout_seconds
    if checks.pending and not is_over:
        return "pending"
    if checks.failed:
        return "failed"
    if checks.pending:
        return "late"
    if checks.found:
        return "passed"
    return "pending" if expected and not is_over and waited_seconds < GRACE_SECONDS else "none"


async def are_expected(forge: Forge, repository: str, base_commit: str, tree: Sequence[str]) -> bool:
    """Whether the repository has checks: by what it runs, or because its base was checked."""
    return bool(tree) or bool((await ask(forge, repository, base_commit)).found)


def workflows(control: Git, commit: str) -> list[str]:
    """What of WORKFLOWS is in a commit."""
    return control.lines("ls-tree", "-r", "--name-only", commit, "--", *WORKFLOWS)


def names(found: Sequence[Status]) -> str:
    """For a sentence; of many the first."""
    more = len(found) - LISTED
    return ", ".join(one.context for one in found[:LISTED]) + (f" and {more} more" if more > 0 else "")


def told(checks: Checks, pull: int) -> str:
    """What the agent is told of checks that failed, each with what it says and where its log is."""
    lines = [f"Checks of pull request #{pull} have failed at {checks.commit[:12]}."]
    lines += [_line(one) for one in checks.failed[:LISTED]]
    rest = [one for one in checks.found if one not in checks.failed]
    if rest:
        lines.append(f"The others: {', '.join(f'{one.context} {one.status}' for one in rest[:LISTED])}.")
    lines.append(
        "Find out why, mend it, and hand the work over again. If it is not because of the change, say so in a comment."
    )
    return "\n".join(lines)


def _line(status: Status) -> str:
    said = f": {status.description}" if status.description else ""
    return f"- {status.context} ({status.status}){said}{f' {status.target_url}' if status.target_url else ''}"
