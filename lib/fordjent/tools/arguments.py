"""Arguments that many tools share."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Repository = Annotated[str, Meta(description="owner/name; this session's own, and may be left out")]
IssueNumber = Annotated[
    int, Meta(description="Number of the issue or pull request; 0: the one of this session", ge=0)
]
PullNumber = Annotated[int, Meta(description="Number of the pull request; 0: the one of this session", ge=0)]
