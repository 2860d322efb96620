"""What has come since a place in the database: deliveries, changes of states, turns of models, in one stream."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select

from fordjent.store import deliveries, statistics
from fordjent.store.numbers import Change
from fordjent.store.schema import RESERVED, model_calls, transitions
from harness.clock import timestamp

TOGETHER = 100
_PLACE = re.compile(r"(\d{1,18})-(\d{1,18})-(\d{1,18})")


class Place(msgspec.Struct, frozen=True):
    """Up to which rows somebody has seen; as text an event's id.

    A call of a model gets its row when it is made and is seen when it is over: `turns` stays before the
    first that is still being made, so that who comes back to a place may see a turn twice, but misses none.
    """

    deliveries: int
    transitions: int
    turns: int

    def __str__(self) -> str:
        return f"{self.deliveries}-{self.transitions}-{self.turns}"

    @classmethod
    def parse(cls, text: str) -> Place | None:
        match = _PLACE.fullmatch(text)
        return cls(*map(int, match.groups())) if match else None


class Happened(msgspec.Struct):
    """`kind`: delivery | transition | turn. `place`: where to go on after it."""

    kind: str
    data: msgspec.Struct
    place: Place


class Delivered(msgspec.Struct):
    event_type: str
    action: str
    repository: str
    number: int
    sender: str
    status: str
    error: str
    timestamp: str


class Found(msgspec.Struct):
    """`seen`: the turns after `place` that were seen already."""

    happened: list[Happened]
    place: Place
    seen: frozenset[int]


def end(connection: Connection) -> Place:
    """The place behind all that is there."""
    last = select(func.max(transitions.c.id))
    return Place(
        deliveries.newest(connection), connection.execute(last).scalar() or 0, _last_turn(connection)
    )


def after(connection: Connection, place: Place, seen: frozenset[int] = frozenset()) -> Found:
    """What has come since; not more than some hundreds: who gets any asks again."""
    arrived = deliveries.after(connection, place.deliveries, TOGETHER)
    changed = connection.execute(
        select(transitions)
        .where(transitions.c.id > place.transitions)
        .order_by(transitions.c.id)
        .limit(TOGETHER)
    ).all()
    turned = _turns(connection, place.turns, seen)
    happened: list[Happened] = []
    for one in arrived:
        place = msgspec.structs.replace(place, deliveries=one.seq)
        happened.append(Happened("delivery", _delivered(one), place))
    for row in changed:
        place = msgspec.structs.replace(place, transitions=row.id)
        happened.append(Happened("transition", _changed(row), place))
    for row in turned:
        seen |= {row[-1]}
        turns, seen = _turns_place(connection, place.turns, seen)
        place = msgspec.structs.replace(place, turns=turns)
        happened.append(Happened("turn", statistics.turn(row), place))
    return Found(happened, place, seen)


def _turns(connection: Connection, turns: int, seen: frozenset[int]) -> Sequence[Any]:
    chosen = (
        statistics.turn_rows()
        .where(model_calls.c.id > turns, model_calls.c.id.not_in(seen), statistics.ASKED)
        .order_by(model_calls.c.id)
        .limit(TOGETHER)
    )
    return connection.execute(chosen).all()


def _turns_place(connection: Connection, turns: int, seen: frozenset[int]) -> tuple[int, frozenset[int]]:
    """As far as all have been seen, and which beyond it."""
    chosen = select(func.min(model_calls.c.id)).where(model_calls.c.id > turns, model_calls.c.id.not_in(seen))
    unseen = connection.execute(chosen).scalar()
    place = unseen - 1 if unseen else max(seen, default=turns)
    return place, frozenset(one for one in seen if one > place)


def _last_turn(connection: Connection) -> int:
    """Before the first that is still being made."""
    open_ones = select(func.min(model_calls.c.id)).where(RESERVED)
    first_open = connection.execute(open_ones).scalar()
    last = connection.execute(select(func.max(model_calls.c.id))).scalar() or 0
    return first_open - 1 if first_open else last


def _delivered(one: deliveries.StoredDelivery) -> Delivered:
    return Delivered(
        one.event_type,
        one.action,
        one.repository,
        one.number,
        one.sender,
        one.status,
        one.reason,
        timestamp(one.received_at),
    )


def _changed(row: Any) -> Change:
    return Change(row.key, row.from_state, row.to_state, row.reason, timestamp(row.at))
