"""The issue that makes the first commit of an empty repository: how it is known, and what it says."""

from __future__ import annotations

from collections.abc import Sequence

SCAFFOLD_TAG = "[scaffold]"
"""In a title: this issue lays the ground, where there is none. A person's may have it too."""
SCAFFOLD_LABEL = "scaffold"
TITLE = f"{SCAFFOLD_TAG} Begin the repository"
NAMED = 20


def body(waiting: Sequence[int]) -> str:
    """What it asks for: numbers alone, whose titles the forge shows."""
    shown = "\n".join(f"- #{number}" for number in waiting[:NAMED])
    return (
        "This repository has no commit yet. Make the first one: the least that work can begin on.\n\n"
        "- a README that says what this is, and how it is built and tested\n"
        "- the language and layout that the issues below ask for, with one test that runs\n"
        "- a .gitignore for what its tools leave behind\n\n"
        "No feature of theirs: each is worked after this. If they do not say which language or framework "
        "is wanted, and nothing else does, ask here.\n\n"
        f"These wait for it:\n\n{shown}\n\n"
        "This once, `forgejo_create_pr` pushes to the default branch itself: there is nothing yet that a "
        "pull request could be compared with."
    )


def pointer(number: int) -> str:
    """What is said on an issue that waits for it."""
    return f"This repository has no commit yet. #{number} makes the first one; I begin with this by myself after it."
