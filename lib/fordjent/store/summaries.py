"""The rows of `summaries` and `compactions`: what finished issues came to, and the pull request that brings it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Literal

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from fordjent.store.schema import compactions, sessions, summaries

State = Literal["made", "proposed", "merged", "declined"]
By = Literal["model", "facts"]


class Topic(msgspec.Struct, frozen=True):
    """An issue with the session of its pull request, or a pull request by itself. `keys`: of the sessions,
    the issue's first; `through`: when the last of them changed."""

    number: int
    keys: tuple[str, ...]
    through: float


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """`through`: of the topic, when it was written."""

    number: int
    through: float
    text: str
    by: By
    state: State = "made"


class Compaction(msgspec.Struct, frozen=True):
    """`pull` 0: there is no standing pull request; `commit`: what we pushed for it last."""

    pull: int = 0
    commit: str = ""


def repositories(connection: Connection) -> list[str]:
    """Those with sessions."""
    rows = connection.execute(select(sessions.c.repository).distinct().order_by(sessions.c.repository))
    return [row.repository for row in rows]


def finished(connection: Connection, repository: str, without_branch: str) -> list[Topic]:
    """Topics on which no session works, waits or asks; those on that branch are none. By number."""
    rows = connection.execute(
        select(
            sessions.c.key,
            sessions.c.kind,
            sessions.c.number,
            sessions.c.state,
            sessions.c.pull,
            sessions.c.cancel,
            sessions.c.ready_at,
            sessions.c.changed_at,
        )
        .where(sessions.c.repository == repository, sessions.c.branch != without_branch)
        .order_by(sessions.c.kind, sessions.c.number)  # issues first
    ).all()
    issue_of = {row.pull: row.number for row in rows if row.kind == "issues" and row.pull}
    grouped = defaultdict(list)
    for row in rows:
        number = issue_of.get(row.number, row.number) if row.kind == "pulls" else row.number
        grouped[number].append(row)
    return [
        Topic(number, tuple(row.key for row in of), max(row.changed_at for row in of))
        for number, of in sorted(grouped.items())
        if all(_is_over(row.state, row.cancel, row.ready_at) for row in of)
    ]


def of(connection: Connection, repository: str) -> dict[int, Summary]:
    """All of a repository, by number."""
    rows = connection.execute(
        select(summaries.c.number, summaries.c.through, summaries.c.text, summaries.c.by, summaries.c.state)
        .where(summaries.c.repository == repository)
        .order_by(summaries.c.number)
    )
    return {row.number: Summary(**row._mapping) for row in rows}


def put(connection: Connection, repository: str, summary: Summary, now: float) -> None:
    """In place of the one that there was."""
    this = (summaries.c.repository == repository) & (summaries.c.number == summary.number)
    connection.execute(delete(summaries).where(this))
    row = msgspec.structs.asdict(summary)
    connection.execute(insert(summaries).values(repository=repository, at=now, **row))


def mark(connection: Connection, repository: str, numbers: Collection[int], state: State) -> None:
    connection.execute(
        update(summaries)
        .where(summaries.c.repository == repository, summaries.c.number.in_(list(numbers)))
        .values(state=state)
    )


def compaction(connection: Connection, repository: str) -> Compaction:
    row = connection.execute(
        select(compactions.c.pull, compactions.c.commit).where(compactions.c.repository == repository)
    ).first()
    return Compaction(*row) if row else Compaction()


def note(connection: Connection, repository: str, standing: Compaction, now: float) -> None:
    """What stands on the forge for it now."""
    values = {"pull": standing.pull, "commit": standing.commit, "at": now}
    this = compactions.c.repository == repository
    if not connection.execute(update(compactions).where(this).values(values)).rowcount:
        connection.execute(insert(compactions).values(repository=repository, **values))


def settle(connection: Connection, repository: str, declined: bool, now: float) -> None:
    """The standing pull request was merged or closed: closed unmerged, what it proposed is not wanted."""
    if declined:
        connection.execute(
            update(summaries)
            .where(summaries.c.repository == repository, summaries.c.state == "proposed")
            .values(state="declined")
        )
    before = compaction(connection, repository)
    note(connection, repository, Compaction(0, before.commit), now)


def _is_over(state: str, cancel: str, ready_at: float | None) -> bool:
    over = state in ("completed", "failed") or (state == "waiting" and bool(cancel))
    return over and ready_at is None
