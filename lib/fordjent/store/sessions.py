"""Rows of `sessions`: what is known of each, who holds it, and which may run.

A lease is an owner and a time: whoever holds one may work on the session (and on its branch)
until then. It is renewed while the work goes on, and anybody's once its time is over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, update

from fordjent.session_key import SessionKey
from fordjent.store import pausing
from fordjent.store.schema import sessions


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """`failure`: why it failed, one of `states.Why`; `cancel`: why its run is to stop ("": it is not)."""

    key: str
    repository: str
    kind: str
    number: int
    role: str
    state: str
    reason: str
    failure: str
    branch: str
    base: str
    pull: int
    status_comment: int
    shown: str
    ready_at: float | None
    first_input_at: float | None
    lease_owner: str
    lease_until: float
    cancel: str
    failures: int
    created_at: float
    changed_at: float

    @property
    def look(self) -> str:
        """What labels and status comment depend on; `shown` is this where they are as they must be."""
        parts = (self.state, self.failure, self.reason, self.role, self.branch, self.cancel, str(self.pull))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]

    @property
    def session_key(self) -> SessionKey:
        return SessionKey.parse(self.key)


def get(connection: Connection, key: str) -> Session | None:
    row = connection.execute(select(sessions).where(sessions.c.key == key)).first()
    return Session(**row._mapping) if row else None


def about_pull(connection: Connection, repository: str, number: int) -> Session | None:
    """The session that opened a pull request."""
    row = connection.execute(
        select(sessions).where(
            sessions.c.repository == repository, sessions.c.pull == number, sessions.c.kind == "issues"
        )
    ).first()
    return Session(**row._mapping) if row else None


def children(connection: Connection, keys: Iterable[str]) -> list[Session]:
    """Those of the keys that there are."""
    rows = connection.execute(select(sessions).where(sessions.c.key.in_(list(keys))))
    return [Session(**row._mapping) for row in rows]


# ---- leases


def claim(connection: Connection, owner: str, now: float, until: float, limit: int) -> list[Session]:
    """Take sessions that may run, longest waiting first: theirs is the lease from here on.

    Those are the ones whose inputs are due, and the ones that were interrupted. A branch is
    worked on by one session at a time. None while there is a pause.
    """
    if pausing.current(connection):
        return []
    rows = connection.execute(
        select(sessions)
        .where(_may_run(now))
        .order_by(func.coalesce(sessions.c.first_input_at, sessions.c.changed_at), sessions.c.key)
    )
    found: list[Session] = []
    busy = _branches(connection, now)
    for row in rows:
        session = Session(**row._mapping)
        if len(found) == limit:
            break
        branch = (session.repository, session.branch)
        if branch not in busy and _take(connection, session.key, owner, now, until):
            found.append(session)
            if session.branch:
                busy.add(branch)
    return found


def claim_one(connection: Connection, key: str, owner: str, now: float, until: float) -> Session | None:
    """Take this one, whether or not anything waits; None: somebody holds it."""
    return get(connection, key) if _take(connection, key, owner, now, until) else None


def take_branch(connection: Connection, key: str, branch: str, base: str, now: float) -> bool:
    """Write down which branch the session works on; False: another session is at that branch now."""
    repository = SessionKey.parse(key).repository
    others = select(sessions.c.key).where(
        sessions.c.repository == repository,
        sessions.c.branch == branch,
        sessions.c.key != key,
        sessions.c.lease_until > now,
    )
    if connection.execute(others).first():
        return False
    connection.execute(update(sessions).where(sessions.c.key == key).values(branch=branch, base=base))
    return True


def on_branch(connection: Connection, repository: str, branch: str) -> list[str]:
    """Keys of the sessions that work on a branch, now or before."""
    rows = connection.execute(
        select(sessions.c.key).where(sessions.c.repository == repository, sessions.c.branch == branch)
    )
    return [row.key for row in rows]


def renew(connection: Connection, owner: str, keys: Iterable[str], now: float, until: float) -> set[str]:
    """Hold on to leases; returns the keys that are still this owner's."""
    kept = set()
    for key in keys:
        changed = connection.execute(
            update(sessions)
            .where(sessions.c.key == key, sessions.c.lease_owner == owner)
            .values(lease_until=until)
        )
        if changed.rowcount:
            kept.add(key)
    return kept


def release(connection: Connection, key: str, owner: str, ready_at: float | None = None) -> None:
    """Give a lease back; `ready_at`: not to be run again before that time."""
    later = {} if ready_at is None else {"ready_at": ready_at}
    connection.execute(
        update(sessions)
        .where(sessions.c.key == key, sessions.c.lease_owner == owner)
        .values(lease_owner="", lease_until=0.0, **later)
    )


def owners(connection: Connection) -> set[str]:
    """Who holds a lease, or held one and did not give it back."""
    rows = connection.execute(select(sessions.c.lease_owner).where(sessions.c.lease_owner != "").distinct())
    return {row.lease_owner for row in rows}


def release_all(connection: Connection, owner: str) -> None:
    """Give back what an owner holds that is known to be dead."""
    connection.execute(
        update(sessions).where(sessions.c.lease_owner == owner).values(lease_owner="", lease_until=0.0)
    )


# ---- what is waiting


def next_ready(connection: Connection) -> float | None:
    """When the next session that waits may run; None: none waits."""
    at: float | None = connection.execute(
        select(func.min(sessions.c.ready_at)).where(sessions.c.ready_at.is_not(None))
    ).scalar()
    return at


def idle_since(connection: Connection, before: float, now: float) -> list[Session]:
    """Sessions that nobody works on, for which nothing waits, unchanged since `before`."""
    rows = connection.execute(
        select(sessions).where(
            sessions.c.changed_at < before,
            sessions.c.ready_at.is_(None),
            sessions.c.lease_until <= now,
            sessions.c.state != "working",
        )
    )
    return [Session(**row._mapping) for row in rows]


def not_shown(connection: Connection, since: float, now: float) -> list[Session]:
    """Sessions that changed since then, that nobody works on, and that show on the forge as something else."""
    rows = connection.execute(
        select(sessions).where(
            sessions.c.changed_at >= since,
            sessions.c.lease_until <= now,
            sessions.c.state.not_in(("created", "working")),
        )
    )
    return [session for row in rows if (session := Session(**row._mapping)).shown != session.look]


# ---- facts


def note(connection: Connection, key: str, /, **facts: str | int | float | None) -> None:
    """Write down facts about a session: `pull`, `status_comment`, `role`, `ready_at`, `failures` …"""
    connection.execute(update(sessions).where(sessions.c.key == key).values(**facts))


def why_cancelled(connection: Connection, keys: Iterable[str]) -> dict[str, str]:
    """Of the keys, those whose run is to stop, and why."""
    rows = connection.execute(
        select(sessions.c.key, sessions.c.cancel).where(
            sessions.c.key.in_(list(keys)), sessions.c.cancel != ""
        )
    )
    return {row.key: row.cancel for row in rows}


def _may_run(now: float) -> ColumnElement[bool]:
    due = and_(sessions.c.ready_at.is_not(None), sessions.c.ready_at <= now)
    return and_(sessions.c.lease_until <= now, or_(due, sessions.c.state == "working"))


def _branches(connection: Connection, now: float) -> set[tuple[str, str]]:
    """Repository and branch of all that is being worked on."""
    rows = connection.execute(
        select(sessions.c.repository, sessions.c.branch).where(
            sessions.c.branch != "", sessions.c.lease_until > now
        )
    )
    return {(row.repository, row.branch) for row in rows}


def _take(connection: Connection, key: str, owner: str, now: float, until: float) -> bool:
    taken = connection.execute(
        update(sessions)
        .where(sessions.c.key == key, sessions.c.lease_until <= now)
        .values(lease_owner=owner, lease_until=until)
    )
    return taken.rowcount == 1
