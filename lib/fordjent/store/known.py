"""What the database knows that matters to one event."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, bindparam, select

from fordjent.deciding.event import Event, read
from fordjent.deciding.facts import HOUR
from fordjent.marker import has_effect, is_marked
from fordjent.roles.roles import DEFAULT, ROLES
from fordjent.session_key import SessionKey
from fordjent.store import effects, inputs, issues, repositories, scaffolds, sessions, waiting_issues
from fordjent.store.schema import deliveries, runs
from fordjent.store.schema import sessions as sessions_table
from harness.errors import BadData


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """`issue` None: never seen. `run_starts`: of the last hour, oldest first. `reviews`: those that were told already."""

    issue: issues.KnownIssue | None
    is_pull: bool | None
    session_role: str
    author_role: str
    ours: bool
    head_message: str
    run_starts: tuple[float, ...]
    reviews: frozenset[int]
    default_branch: str
    waiting: waiting_issues.WaitingIssue | None
    scaffold: int


_ROLE = select(sessions_table.c.role).where(sessions_table.c.key == bindparam("of_key"))
_STARTS = (
    select(runs.c.started_at)
    .where(
        runs.c.key == bindparam("of_key"), runs.c.started_at.between(bindparam("since"), bindparam("until"))
    )
    .order_by(runs.c.started_at)
)

NOTHING = Known(
    issue=None,
    is_pull=None,
    session_role="",
    author_role=DEFAULT,
    ours=False,
    head_message="",
    run_starts=(),
    reviews=frozenset(),
    default_branch="",
    waiting=None,
    scaffold=0,
)


def of_event(connection: Connection, event: Event, now: float) -> Known:
    issue = issues.get(connection, event.repository, event.number) if event.number else None
    is_pull = event.is_pull if event.is_pull is not None else issue.is_pull if issue else None
    key = str(SessionKey(event.repository, "pulls" if is_pull else "issues", event.number))
    role = connection.execute(_ROLE, {"of_key": key}).scalar()
    around = {"of_key": key, "since": now - HOUR, "until": now + HOUR}  # a clock may have been set back
    starts = connection.execute(_STARTS, around) if role else ()
    return Known(
        issue=issue,
        is_pull=is_pull,
        session_role=role or "",
        author_role=_author_role(connection, event) if is_pull else DEFAULT,
        ours=_is_ours(connection, event),
        head_message=_head_message(connection, event, now),
        run_starts=tuple(row.started_at for row in starts),
        reviews=_reviews(connection, key) if event.review else frozenset(),
        default_branch=repositories.default_branch(connection, event.repository),
        waiting=waiting_issues.of_key(connection, key),
        scaffold=scaffolds.of_repository(connection, event.repository),
    )


def _author_role(connection: Connection, event: Event) -> str:
    """Of the session that made the pull request; only a role that can change it."""
    made_by = sessions.about_pull(connection, event.repository, event.number)
    if made_by is None and event.pull and event.pull.head:
        keys = sessions.on_branch(connection, event.repository, event.pull.head)
        made_by = next(
            (one for key in keys if (one := sessions.get(connection, key)) and one.kind == "issues"), None
        )
    return made_by.role if made_by and ROLES[made_by.role].writes_code else DEFAULT


def _is_ours(connection: Connection, event: Event) -> bool:
    """Whether we wrote this very comment: by its id, or, where our writing was interrupted, by the effect that it names."""
    if event.comment is None or not is_marked(event.comment.body):
        return False
    for kind in ("issues", "pulls"):
        key = f"{event.repository}/{kind}/{event.number}"
        for effect in effects.of_key(connection, key):
            if effect.is_done and effect.kind == "comment":
                written = msgspec.json.decode(effect.result, type=_Written)
                if written.id == event.comment.id:
                    return True
            elif not effect.is_done and has_effect(event.comment.body, effect.id):
                return True
    return False


class _Written(msgspec.Struct):
    id: int = 0


def _head_message(connection: Connection, event: Event, now: float) -> str:
    """Of the newest commit of a pull request, told by the push that came before the new head."""
    if event.subject != "pull" or event.action != "synchronized" or event.pull is None:
        return ""
    if event.head_message:  # reconciling asked for it
        return event.head_message
    pushes = connection.execute(
        select(deliveries.c.body)
        .where(
            deliveries.c.received_at > now - HOUR,
            deliveries.c.repository == event.repository,
            deliveries.c.event_type == "push",
        )
        .order_by(deliveries.c.received_at.desc())
        .limit(50)
    )
    for row in pushes:
        try:
            push = read("push", row.body)
        except BadData:
            continue
        if push.after == event.pull.head_commit:
            return push.head_message
    return ""


def _reviews(connection: Connection, key: str) -> frozenset[int]:
    told = (source.partition(":")[2] for source in inputs.sources(connection, key, "review:"))
    return frozenset(int(source) for source in told if source.isdigit())
