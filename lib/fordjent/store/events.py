"""What is to be decided: the events of deliveries, and those that our own timers make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import Connection, Select, func, insert, select, update

from fordjent.store.schema import deliveries, events
from harness.errors import BadData


class StoredEvent(msgspec.Struct, frozen=True):
    """`delivery` and `body` are empty where a timer of ours made it. `created_at`: seconds since 1970."""

    id: int
    delivery: str
    event_type: str
    repository: str
    number: int
    kind: str
    body: bytes
    attempts: int
    created_at: float


class Parked(msgspec.Struct, frozen=True):
    """An event that could not be decided, and why; `fordjent-replay DELIVERY` tries it again."""

    id: int
    delivery: str
    repository: str
    number: int
    kind: str
    error: str


def waiting(connection: Connection, now: float, limit: int, taken: Iterable[int] = ()) -> list[StoredEvent]:
    """Those that are new and due, in the order in which they came, without those that are `taken`."""
    chosen = (
        _events()
        .where(events.c.state == "new", events.c.not_before <= now, events.c.id.not_in(list(taken)))
        .order_by(events.c.id)
        .limit(limit)
    )
    return [_event(row) for row in connection.execute(chosen)]


def get(connection: Connection, event_id: int) -> StoredEvent:
    """
    Raises:
        BadData: there is none.
    """
    row = connection.execute(_events().where(events.c.id == event_id)).first()
    if row is None:
        raise BadData(f"there is no event {event_id}")
    return _event(row)


def of_delivery(connection: Connection, delivery_id: str) -> StoredEvent | None:
    """The last one that was made of a delivery."""
    chosen = _events().where(events.c.delivery == delivery_id).order_by(events.c.id.desc()).limit(1)
    row = connection.execute(chosen).first()
    return _event(row) if row else None


def is_waiting(connection: Connection, kind: str, repository: str) -> bool:
    """Whether one of that kind is to be decided."""
    chosen = select(events.c.id).where(
        events.c.state == "new", events.c.kind == kind, events.c.repository == repository
    )
    return connection.execute(chosen.limit(1)).first() is not None


def ask(connection: Connection, kind: str, repository: str, now: float) -> bool:
    """Have one done of ours that looks at what is there now; False: one that waits will.

    One may be at work, and has looked already: so a second may wait behind it, and no third.
    """
    chosen = select(events.c.id).where(
        events.c.state == "new", events.c.kind == kind, events.c.repository == repository
    )
    if len(connection.execute(chosen.limit(2)).all()) == 2:
        return False
    add(connection, kind, repository, 0, now)
    return True


def held(connection: Connection, now: float) -> list[tuple[str, int, str, float]]:
    """Repository, number, kind and time of those that were postponed beyond now."""
    chosen = select(events.c.repository, events.c.number, events.c.kind, events.c.not_before).where(
        events.c.state == "new", events.c.not_before > now
    )
    return [tuple(row) for row in connection.execute(chosen)]


def next_after(connection: Connection, now: float) -> float | None:
    """When the next of those is due that are postponed beyond now, in seconds since 1970; None: there is none."""
    chosen = select(func.min(events.c.not_before)).where(events.c.state == "new", events.c.not_before > now)
    return connection.execute(chosen).scalar()


def postpone(connection: Connection, event_id: int, not_before: float, error: str = "") -> None:
    """It could not be decided for now."""
    connection.execute(
        update(events)
        .where(events.c.id == event_id)
        .values(attempts=events.c.attempts + 1, not_before=not_before, error=error)
    )


def hold_back(connection: Connection, event_ids: Iterable[int], not_before: float) -> None:
    """They come after one that was postponed: their own attempts do not count."""
    connection.execute(update(events).where(events.c.id.in_(list(event_ids))).values(not_before=not_before))


def park(connection: Connection, event_id: int, error: str, now: float) -> None:
    """It cannot be decided: it is left, with what is wrong; the deliveries of others go on."""
    connection.execute(
        update(events)
        .where(events.c.id == event_id)
        .values(state="parked", attempts=events.c.attempts + 1, error=error, decided_at=now)
    )


def decided(connection: Connection, event_id: int, actions_json: str, now: float) -> None:
    connection.execute(
        update(events)
        .where(events.c.id == event_id)
        .values(state="decided", actions=actions_json, decided_at=now)
    )


def parked(connection: Connection, limit: int) -> list[Parked]:
    """The last of those that could not be decided, newest first."""
    columns = events.c.repository, events.c.number, events.c.kind, events.c.error
    chosen = select(events.c.id, func.coalesce(events.c.delivery, ""), *columns)
    rows = connection.execute(
        chosen.where(events.c.state == "parked").order_by(events.c.id.desc()).limit(limit)
    )
    return [Parked(*row) for row in rows]


def add(connection: Connection, kind: str, repository: str, number: int, now: float) -> int:
    """One of a timer of ours; returns its id."""
    return _add(connection, None, kind, repository, number, now)


def again(connection: Connection, delivery_id: str, now: float) -> int:
    """One more of a stored delivery, to be decided anew; returns its id.

    Raises:
        BadData: there is no such delivery.
    """
    columns = deliveries.c.event_type, deliveries.c.repository, deliveries.c.number
    row = connection.execute(select(*columns).where(deliveries.c.id == delivery_id)).first()
    if row is None:
        raise BadData(
            f"there is no delivery {delivery_id!r}",
            hint="the page /activity shows the last ones with their ids",
        )
    if not connection.execute(
        select(func.length(deliveries.c.body)).where(deliveries.c.id == delivery_id)
    ).scalar():
        raise BadData(f"the document of delivery {delivery_id!r} is kept no longer")
    return _add(connection, delivery_id, *row, now)


def _add(
    connection: Connection, delivery: str | None, kind: str, repository: str, number: int, now: float
) -> int:
    row = {"delivery": delivery, "kind": kind, "repository": repository, "number": number, "created_at": now}
    made = connection.execute(insert(events).values(row)).inserted_primary_key
    assert made is not None
    return int(made[0])


def _event(row: Iterable[Any]) -> StoredEvent:
    return StoredEvent(*row)


def _events() -> Select[tuple[int, str, str, str, int, str, bytes, int, float]]:
    return select(
        events.c.id,
        func.coalesce(events.c.delivery, ""),
        func.coalesce(deliveries.c.event_type, ""),
        events.c.repository,
        events.c.number,
        events.c.kind,
        func.coalesce(deliveries.c.body, b""),
        events.c.attempts,
        events.c.created_at,
    ).join_from(events, deliveries, isouter=True)
