"""Arguments that many tools share, and what they mean where they are left out."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fordjent.tools.scope import Session
from harness.errors import BadData

Repository = Annotated[str, Meta(description="owner/name; this session's own, and may be left out")]
IssueNumber = Annotated[
    int, Meta(description="Number of the issue or pull request; 0: the one of this session", ge=0)
]
PullNumber = Annotated[int, Meta(description="Number of the pull request; 0: the one of this session", ge=0)]


def issue_number(session: Session, asked: int) -> int:
    """The issue or pull request that is meant.

    Raises:
        BadData: none was named, and the session is about a whole repository.
    """
    if not (asked or session.key.number):
        raise BadData("issue_number: name the issue or pull request")
    return asked or session.key.number


def pull_number(session: Session, asked: int) -> int:
    """The pull request that is meant.

    Raises:
        BadData: none was named, and the session is not about one.
    """
    if not asked and not (session.key.is_pull and session.key.number):
        raise BadData("pr_number: name the pull request: this session is not about one")
    return asked or session.key.number
