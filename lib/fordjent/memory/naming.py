"""What things of the memory are called on the forge."""

from __future__ import annotations

BRANCH = "fordjent/memory"
"""Of the standing pull request. Nothing of a session's is on it."""
SUBJECT = "Sum up finished issues"
"""Of its one commit, after the prefix."""


def path_of(folder: str, number: int) -> str:
    """Where the summary of an issue stands in its repository."""
    return f"{folder}/{name_of(number)}"


def name_of(number: int) -> str:
    return f"{number:04d}-summary.md"
