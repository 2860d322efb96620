"""Looks at what a run left on the forge, on the branch and in the database."""

from __future__ import annotations

from fordjent import threads
from fordjent.context import Context
from fordjent.forge import pulls
from fordjent.forge.errors import NotFound
from fordjent.forge.types import Pull
from fordjent.gates import first_push
from fordjent.roles.roles import Role
from fordjent.sessions.outcome import SAYING, Evidence
from fordjent.store import sessions, tool_calls, waiting_merges
from fordjent.store.runs import Run
from fordjent.store.sessions import Session
from fordjent.workspaces.place import Place


async def gather(context: Context, session: Session, run: Run, role: Role, place: Place | None) -> Evidence:
    """
    Raises:
        Unreachable: the forge does not answer.
    """
    database = context.database
    said = [await database.read(tool_calls.count, session.key, run.id, tool) for tool in SAYING]
    made = await database.read(tool_calls.count, session.key, run.id, "forgejo_create_issue")
    if not role.makes_pull or place is None:
        return Evidence(said=any(said), made=made)
    pull = await pull_of(context, session, place.branch)
    if pull is None:
        head = await threads.run_in(place.root, place.head)
        begun = await first_push.done(context, session.session_key, head)
        if begun:
            return Evidence(begun=begun, said=any(said), made=made)
        waiting = await database.read(waiting_merges.of_key, session.key)
        return Evidence(said=any(said), made=made, waits_for=tuple(waiting.waits_for) if waiting else ())
    if pull.number != session.pull:
        await database.write(sessions.note, session.key, pull=pull.number)
    head = await threads.run_in(place.root, place.head)
    untouched = head == place.start == place.seen
    return Evidence(
        pull=pull.number,
        pushed=pull.merged or untouched or head == pull.head.sha,
        moved=pull.merged or pull.head.sha != run.start_commit,
        said=any(said),
        made=made,
    )


async def pull_of(context: Context, session: Session, branch: str) -> Pull | None:
    """The pull request of the branch: the open one, else the session's, when it was merged."""
    number = session.number if session.kind == "pulls" else session.pull
    if number:
        try:
            known = await pulls.get(context.forge, session.repository, number)
        except NotFound:
            known = None
        if known and (known.merged or known.state == "open"):
            return known
    return await pulls.find(context.forge, session.repository, branch)
