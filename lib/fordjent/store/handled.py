"""What was handled of a repository, for the comparison with what the forge has."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from sqlalchemy import Connection, func, select, update

from fordjent.deciding.event import Event, read
from fordjent.reconciling.comparing import Handled, Said
from fordjent.store import issues
from fordjent.store.schema import deliveries, events, inputs, repositories, sessions
from fordjent.store.schema import issues as issues_table
from harness.errors import BadData

MARGIN_SECONDS = 3600.0
"""The clocks of the forge and of this machine may differ by this."""


class Repository(msgspec.Struct, frozen=True):
    """`set_up_at`, `reconciled_at`: seconds since 1970."""

    name: str
    default_branch: str
    set_up_at: float
    reconciled_at: float


def repository(connection: Connection, name: str) -> Repository | None:
    row = connection.execute(select(*_COLUMNS).where(repositories.c.name == name)).first()
    return Repository(*row) if row else None


def repositories_due(connection: Connection) -> list[str]:
    """All that were set up, those that were compared longest ago first."""
    rows = connection.execute(select(repositories.c.name).order_by(repositories.c.reconciled_at))
    return [row.name for row in rows]


def reconciled(connection: Connection, name: str, at: float) -> None:
    connection.execute(update(repositories).where(repositories.c.name == name).values(reconciled_at=at))


def of(connection: Connection, name: str, since: float) -> Handled:
    """`since`: deliveries before it (and a margin) are not looked at."""
    delivered = list(_delivered(connection, name, since - MARGIN_SECONDS))
    told = _told(connection, name)
    return Handled(
        known=_known(connection, name),
        undecided=_undecided(connection, name),
        opened=frozenset(one.number for one in delivered if one.name in ("issue.opened", "pull.opened"))
        | {number for number, source in told if source == "opened"},
        comments=frozenset(one.comment.id for one in delivered if one.comment)
        | {int(id) for id in _ids(told, "comment:")},
        heads=frozenset(one.pull.head_commit for one in delivered if one.pull and one.subject == "pull")
        | set(_ids(told, "head:")),
        said=tuple(
            Said(one.number, one.sender.casefold(), one.review.verdict, one.review.body.strip())
            for one in delivered
            if one.review
        ),
        told_reviews=frozenset(int(id) for id in _ids(told, "review:") if id.isdecimal()),
    )


def last_delivery(connection: Connection, name: str) -> float:
    """When the forge last delivered something of a repository, in seconds since 1970; 0: never."""
    of_forge = ~deliveries.c.id.startswith("reconcile:")
    came = select(func.max(deliveries.c.received_at)).where(deliveries.c.repository == name, of_forge)
    return connection.execute(came).scalar() or 0.0


_COLUMNS = [repositories.c[name] for name in Repository.__struct_fields__]
_ONE_THING = ("issues", "issue_comment", "pull_request", "pull_request_sync", "pull_request_comment")
_REVIEWS = "pull_request_review_"


def _delivered(connection: Connection, name: str, since: float) -> Iterator[Event]:
    rows = connection.execute(
        select(deliveries.c.event_type, deliveries.c.body).where(
            deliveries.c.repository == name,
            deliveries.c.received_at >= since,
            deliveries.c.event_type.in_(_ONE_THING) | deliveries.c.event_type.startswith(_REVIEWS),
        )
    )
    for row in rows:
        try:
            yield read(row.event_type, row.body)
        except BadData:  # it is parked, and told so
            continue


def _told(connection: Connection, name: str) -> list[tuple[int, str]]:
    rows = connection.execute(
        select(sessions.c.number, inputs.c.source)
        .join_from(inputs, sessions)
        .where(sessions.c.repository == name)
    )
    return [(row.number, row.source) for row in rows]


def _ids(told: list[tuple[int, str]], prefix: str) -> Iterator[str]:
    return (source.removeprefix(prefix) for _, source in told if source.startswith(prefix))


def _undecided(connection: Connection, name: str) -> frozenset[int]:
    rows = connection.execute(
        select(events.c.number).where(
            events.c.repository == name, events.c.state == "new", events.c.number > 0
        )
    )
    return frozenset(row.number for row in rows)


def _known(connection: Connection, name: str) -> dict[int, issues.KnownIssue]:
    rows = connection.execute(select(issues_table).where(issues_table.c.repository == name))
    return {row.number: issues.of_row(row) for row in rows}
