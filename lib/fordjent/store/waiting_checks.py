"""Rows of `waiting_checks`: pull requests whose checks are waited for before they are called ready."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, update

from fordjent.deciding.actions import InputKind
from fordjent.store.schema import inputs, waiting_checks

OF_PEOPLE: tuple[InputKind, ...] = ("opened", "comment", "review", "label")


class WaitingCheck(msgspec.Struct, frozen=True, kw_only=True):
    """`commit`: the head, and `since` when it is waited for it. `expected`: there must be checks, by what the
    repository has. `look_at`: when they are asked for next, after `looks` times."""

    key: str
    repository: str
    pull: int
    commit: str
    expected: bool
    since: float
    looks: int = 0
    look_at: float = 0.0

    @property
    def reason(self) -> str:
        """Of the state that the session is in meanwhile."""
        return f"Pull request #{self.pull} waits for its checks at {self.commit[:12]}."


def put(connection: Connection, waiting: WaitingCheck) -> None:
    """Wait for these, and for no others. Repeatable."""
    drop(connection, waiting.key)
    connection.execute(insert(waiting_checks).values(msgspec.structs.asdict(waiting)))


def drop(connection: Connection, key: str) -> None:
    """Nothing is waited for any more. Repeatable."""
    connection.execute(delete(waiting_checks).where(waiting_checks.c.key == key))


def of_key(connection: Connection, key: str) -> WaitingCheck | None:
    row = connection.execute(select(waiting_checks).where(waiting_checks.c.key == key)).first()
    return WaitingCheck(**row._mapping) if row else None


def due(connection: Connection, now: float, longest_pause: float, limit: int) -> list[WaitingCheck]:
    """Those to be asked for now. One that is put further ahead than any pause was put so by another clock."""
    at = waiting_checks.c.look_at
    rows = connection.execute(
        select(waiting_checks).where((at <= now) | (at > now + longest_pause)).order_by(at).limit(limit)
    )
    return [WaitingCheck(**row._mapping) for row in rows]


def later(connection: Connection, key: str, looks: int, look_at: float) -> None:
    connection.execute(
        update(waiting_checks).where(waiting_checks.c.key == key).values(looks=looks, look_at=look_at)
    )


def told(connection: Connection, key: str) -> int:
    """How often the session was told of failed checks since a person last spoke."""
    last = select(func.coalesce(func.max(inputs.c.id), 0)).where(
        inputs.c.key == key, inputs.c.kind.in_(OF_PEOPLE)
    )
    count = (
        select(func.count())
        .select_from(inputs)
        .where(inputs.c.key == key, inputs.c.kind == "checks", inputs.c.id > last.scalar_subquery())
    )
    return int(connection.execute(count).scalar_one())
