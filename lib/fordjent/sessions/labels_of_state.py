"""The labels that follow a session's state: derived from it, so that no two ever contradict."""

from __future__ import annotations

from fordjent.context import Context
from fordjent.forge import labels
from fordjent.roles.guidance import NEEDS_ROLE
from fordjent.store.sessions import Session

IN_PROGRESS, BLOCKED, READY, REVIEW = "in_progress", "blocked", "ready", "review"
FAILED = "fordjent/failed:"

OURS = (IN_PROGRESS, BLOCKED, READY, REVIEW, NEEDS_ROLE)
"""Besides those that begin with FAILED: what we set, and what we take off. No other label is touched."""


def label(session: Session) -> str:
    """The one that the state wants on issue or pull request; "": none."""
    if session.state == "working":
        return IN_PROGRESS
    if session.state == "failed":
        return FAILED + session.failure
    if session.state in ("waiting", "blocked"):
        return "" if session.cancel else BLOCKED
    if session.state == "completed" and session.pull and session.kind == "issues":
        return REVIEW
    return ""


def is_ours(name: str) -> bool:
    return name in OURS or name.startswith(FAILED)


async def follow(context: Context, session: Session) -> None:
    """Bring the labels of issue or pull request to the session's state; writes only what differs."""
    there = await labels.of_issue(context.forge, session.repository, session.number)
    wanted = label(session)
    off = {one.name for one in there if is_ours(one.name) and one.name != wanted}
    if off or (wanted and wanted not in {one.name for one in there}):
        on = [wanted] if wanted else []
        await labels.change(context.forge, session.repository, session.number, on=on, off=off)
