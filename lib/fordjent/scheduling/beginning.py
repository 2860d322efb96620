"""Empty repositories: one issue makes the first commit, whichever issues came; the others wait for that."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fordjent import posting
from fordjent.context import Context
from fordjent.forge import labels, repositories
from fordjent.forge.errors import ForgeError, Unreachable
from fordjent.roles.roles import ROLES
from fordjent.scheduling import closing, ground
from fordjent.session_key import SessionKey
from fordjent.store import repositories as known_repositories
from fordjent.store import scaffolds, sessions
from fordjent.store.waiting_issues import WaitingIssue


async def lay_ground(context: Context, repository: str, rows: Sequence[WaitingIssue]) -> int | None:
    """The number of the issue that makes the first commit; 0: nobody needs one yet; None: the repository has commits.

    Who calls is alone with the repository: the scheduler has one look at it at a time.

    Raises:
        Unreachable: the forge does not answer.
    """
    database = context.database
    if await database.read(known_repositories.has_commits, repository):
        return None
    about = await repositories.get(context.forge, repository)
    if not about.empty:
        await database.write(known_repositories.note_commits, repository, about.default_branch, time.time())
        return None
    waiting = [row for row in rows if ROLES[row.role].writes_code]
    known = await database.read(scaffolds.of_repository, repository)
    if known or not waiting:
        return known
    made = await _open(context, repository, waiting)
    return await database.write(scaffolds.claim, repository, made, time.time())


async def finish(context: Context, repository: str) -> None:
    """Close the issue that made the first commit, once, when its run has ended with that.

    Raises:
        Unreachable: the forge does not answer.
    """
    number = await context.database.read(scaffolds.of_repository, repository)
    key = SessionKey(repository, "issues", number)
    session = await context.database.read(sessions.get, str(key)) if number else None
    if session is None or session.state != "completed" or session.pull:
        return
    await closing.close_once(
        context, key, f"{repository}:scaffold:closed", "The first commits of the repository are there."
    )


async def _open(context: Context, repository: str, waiting: Sequence[WaitingIssue]) -> int:
    made = await posting.issue(
        context,
        context.forge,
        SessionKey.parse(waiting[0].key),
        f"{repository}:scaffold",
        title=ground.TITLE,
        body=ground.body([row.number for row in waiting]),
        labels=await _labels(context, repository),
    )
    return made.number


async def _labels(context: Context, repository: str) -> list[int]:
    try:
        return list((await labels.ensure(context.forge, repository, [ground.SCAFFOLD_LABEL])).values())
    except Unreachable:
        raise
    except ForgeError:  # it may not make labels: the title says it too
        return []
