"""The worktree of a run: on the branch of the issue or pull request, or, for who only looks, beside it."""

from __future__ import annotations

import time

from fordjent import threads
from fordjent.context import Context
from fordjent.forge import repositories
from fordjent.gates import first_push
from fordjent.roles.roles import Role
from fordjent.sessions.briefing import Ground
from fordjent.sessions.facts import Subject
from fordjent.store import sessions
from fordjent.store.sessions import Session
from fordjent.workspaces.place import Place
from fordjent.workspaces.workspaces import EmptyRepository, Workspaces, branch_of
from harness.errors import Busy

LEFT_OVERS = 50


async def prepare(
    context: Context, workspaces: Workspaces, session: Session, role: Role, subject: Subject
) -> Place | None:
    """None: the repository is empty, and the role can do without.

    Raises:
        EmptyRepository: it is, and the role cannot; nor is this the issue that makes the first commit.
        Busy: another session works on the branch now.
        TryLater: the forge or git failed.
    """
    key = session.session_key
    root = workspaces.root(session.repository)
    if subject.pull and not role.writes_code:
        return await threads.begin_in(root, workspaces.prepare_for_reading, key, subject.pull.base)
    branch = subject.pull.head if subject.pull else branch_of(key)
    base = subject.pull.base if subject.pull else ""
    if not await context.database.write(sessions.take_branch, session.key, branch, base, time.time()):
        raise Busy(f"another session works on {branch} of {session.repository}")
    try:
        place = await threads.begin_in(root, workspaces.prepare, key, branch, base, asked=time.monotonic())
    except EmptyRepository:
        if not role.writes_code:
            return None
        if not await first_push.may(context, key):
            raise
        default = (await repositories.get(context.forge, key.repository)).default_branch
        place = await threads.begin_in(root, workspaces.prepare_first, key, default)
    await context.database.write(sessions.note, session.key, base=place.base)
    return place


async def look(place: Place) -> Ground:
    """The facts about it that a prompt shows."""
    return await threads.run_in(place.root, _look, place)


async def rest(place: Place) -> None:
    """End git's helper processes (one per repository and session), which start again where they are needed."""
    for git in (place.control, place.spot.agents):
        await threads.run(git.objects.close)


def _look(place: Place) -> Ground:
    ahead, behind = place.control.ahead_behind(place.head(), place.base_commit)
    return Ground(
        path=str(place.path),
        branch=place.branch,
        base=place.base,
        ahead=ahead,
        behind=behind,
        left_over=tuple(place.uncommitted()[:LEFT_OVERS]),
    )
