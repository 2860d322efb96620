"""What the forge delivered, once per delivery id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, func, select, update

from fordjent.intake.delivery import Delivery
from fordjent.store import bulk
from fordjent.store.schema import deliveries, events
from harness.errors import BadData


class Accepted(msgspec.Struct, frozen=True):
    """`event_id` is what the first delivery of this id was answered."""

    event_id: str
    duplicate: bool


class StoredDelivery(msgspec.Struct, frozen=True):
    """Without its body. `received_at`: seconds since 1970."""

    seq: int
    id: str
    event_id: str
    event_type: str
    action: str
    repository: str
    number: int
    sender: str
    status: str
    reason: str
    received_at: float
    duplicates: int


def accept(connection: Connection, delivery: Delivery, now: float) -> Accepted:
    """Store a delivery and, unless it is ignored, its event; one that is there already is counted only."""
    return accept_all(connection, [delivery], now)[0]


def accept_all(connection: Connection, arrived: Sequence[Delivery], now: float) -> list[Accepted]:
    """`accept` of several, in order: no more statements than for one."""
    ids = [delivery.id for delivery in arrived]
    known: dict[str, str] = {id: event_id for id, event_id in connection.execute(_KNOWN, {"ids": ids})}
    accepted: list[Accepted] = []
    fresh: list[Delivery] = []
    again: list[dict[str, str]] = []
    for delivery in arrived:
        duplicate = delivery.id in known
        if duplicate:
            again.append({"wanted": delivery.id})
        else:
            known[delivery.id] = delivery.event_id
            fresh.append(delivery)
        accepted.append(Accepted(known[delivery.id], duplicate))
    _store(connection, fresh, now)
    if again:
        connection.execute(_COUNT, again)
    return accepted


def filtered(connection: Connection, event_id: int, reason: str) -> None:
    """Its event was looked at and is not meant to start anything: the bot's own doing, say."""
    delivery = select(events.c.delivery).where(events.c.id == event_id).scalar_subquery()
    connection.execute(
        update(deliveries).where(deliveries.c.id == delivery).values(status="filtered", reason=reason)
    )


def body(connection: Connection, delivery_id: str) -> bytes:
    """
    Raises:
        BadData: there is no such delivery.
    """
    found: bytes | None = connection.execute(
        select(deliveries.c.body).where(deliveries.c.id == delivery_id)
    ).scalar()
    if found is None:
        raise BadData(f"there is no delivery {delivery_id!r}", hint="/activity shows the last ones")
    return found


def last(connection: Connection, limit: int) -> list[StoredDelivery]:
    """The newest first."""
    return _read(connection.execute(select(*_SHOWN).order_by(deliveries.c.seq.desc()).limit(limit)).all())


def after(connection: Connection, seq: int, limit: int) -> list[StoredDelivery]:
    """Those that came after the one with that `seq`, in order."""
    chosen = select(*_SHOWN).where(deliveries.c.seq > seq).order_by(deliveries.c.seq).limit(limit)
    return _read(connection.execute(chosen).all())


def newest(connection: Connection) -> int:
    """The `seq` of the last one; 0: there is none."""
    return connection.execute(select(func.max(deliveries.c.seq))).scalar() or 0


class Counts(msgspec.Struct):
    accepted: int = 0
    duplicate: int = 0
    ignored: int = 0
    filtered: int = 0
    rejected: int = 0


def counts(connection: Connection) -> Counts:
    """All of them by what became of them, but the rejected, which are not stored (store.counters)."""
    columns = deliveries.c.status, func.count(), func.sum(deliveries.c.duplicates)
    found = Counts()
    for status, count, duplicates in connection.execute(select(*columns).group_by(deliveries.c.status)):
        setattr(found, status, count)
        found.duplicate += duplicates
    return found


_SHOWN = [deliveries.c[name] for name in StoredDelivery.__struct_fields__]
_KNOWN = select(deliveries.c.id, deliveries.c.event_id).where(
    deliveries.c.id.in_(bindparam("ids", expanding=True))
)
_COUNT = (
    update(deliveries)
    .where(deliveries.c.id == bindparam("wanted"))
    .values(duplicates=deliveries.c.duplicates + 1)
)


_DELIVERY = (
    *("id", "event_id", "event_type", "action", "repository", "number", "sender"),
    *("status", "reason", "body", "body_hash", "received_at"),
)
_EVENT = ("delivery", "repository", "number", "kind", "created_at")


def _store(connection: Connection, fresh: Sequence[Delivery], now: float) -> None:
    rows = (
        (
            one.id,
            one.event_id,
            one.event_type,
            one.action,
            one.repository,
            one.number,
            one.sender,
            "ignored" if one.ignored else "accepted",
            one.ignored,
            one.body,
            one.body_hash,
            now,
        )
        for one in fresh
    )
    begun = ((one.id, one.repository, one.number, one.event_type, now) for one in fresh if not one.ignored)
    bulk.insert(connection, deliveries, _DELIVERY, rows)
    bulk.insert(connection, events, _EVENT, begun)


def _read(rows: Iterable[Any]) -> list[StoredDelivery]:
    return [StoredDelivery(*row) for row in rows]
