"""Deliveries and their events, once per id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fordjent.intake import delivery
from fordjent.intake.delivery import Delivery
from fordjent.store import deliveries, events
from fordjent.store.database import Database
from harness.errors import BadData
from tests.support import senders


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    opened = Database.open(f"sqlite:///{place / 'a.db'}")
    yield opened
    opened.close()


def arrived(name: str = "001-issues-opened", **headers: str) -> Delivery:
    sent = json.loads((senders.RECORDED / f"{name}.headers.json").read_bytes())
    named = {key.lower(): value for key, value in sent.items()} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return delivery.trusted(named, (senders.RECORDED / f"{name}.body.json").read_bytes())


def accept(database: Database, *several: Delivery, now: float = 100.0) -> list[deliveries.Accepted]:
    return database.submit(deliveries.accept_all, several, now).result(10)


def test_a_delivery_and_its_event_are_stored_together(database: Database) -> None:
    one = arrived()
    (accepted,) = accept(database, one)
    assert (accepted.event_id, accepted.duplicate) == (one.event_id, False)
    (event,) = database.look(events.waiting, 200.0, 10)
    assert (event.delivery, event.kind, event.event_type) == (one.id, "issues", "issues")
    assert (event.repository, event.number, event.body) == ("acme/widget", 1, one.body)
    assert database.look(deliveries.body, one.id) == one.body


def test_the_same_id_is_a_duplicate_also_in_one_group_and_makes_one_event(database: Database) -> None:
    first, again = arrived(), arrived()
    answers = accept(database, first, again) + accept(database, arrived())
    assert [one.duplicate for one in answers] == [False, True, True]
    assert {one.event_id for one in answers} == {first.event_id}
    assert len(database.look(events.waiting, 200.0, 10)) == 1
    counts = database.look(deliveries.counts)
    assert (counts.accepted, counts.duplicate) == (1, 2)


def test_equal_bodies_under_two_ids_are_both_stored(database: Database) -> None:
    """Recorded: a label set and another removed look the same."""
    one, other = arrived("004-issue_label-label_updated"), arrived("006-issue_label-label_updated")
    assert one.body_hash == other.body_hash and one.id != other.id
    assert not any(accepted.duplicate for accepted in accept(database, one, other))
    assert [event.delivery for event in database.look(events.waiting, 200.0, 10)] == [one.id, other.id]


def test_an_ignored_one_is_stored_with_its_reason_and_makes_no_event(database: Database) -> None:
    accept(database, arrived("012-create"))
    (stored,) = database.look(deliveries.last, 10)
    assert (stored.status, stored.event_type) == ("ignored", "create") and stored.reason
    assert database.look(events.waiting, 200.0, 10) == []
    assert database.look(deliveries.counts).ignored == 1


def test_events_wait_in_order_until_they_are_decided(database: Database) -> None:
    for number in range(3):
        accept(database, arrived(x_forgejo_delivery=f"d{number}"), now=float(number))
    first, second, third = database.look(events.waiting, 200.0, 10)
    database.submit(events.decided, first.id, "[]", 5.0).result(10)
    database.submit(events.postpone, second.id, 300.0).result(10)
    assert [one.id for one in database.look(events.waiting, 200.0, 10)] == [third.id]
    (later, _) = database.look(events.waiting, 300.0, 10)
    assert (later.id, later.attempts) == (second.id, 1)
    assert len(database.look(events.waiting, 300.0, 1)) == 1


def test_a_timer_makes_events_without_a_delivery(database: Database) -> None:
    made = database.submit(events.add, "reconcile", "acme/widget", 0, 7.0).result(10)
    event = database.look(events.get, made)
    assert (event.kind, event.delivery, event.event_type, event.body) == ("reconcile", "", "", b"")


def test_a_filtered_one_is_told_apart(database: Database) -> None:
    accept(database, arrived())
    (event,) = database.look(events.waiting, 200.0, 10)
    database.submit(deliveries.filtered, event.id, "the bot's own").result(10)
    (stored,) = database.look(deliveries.last, 10)
    assert (stored.status, stored.reason) == ("filtered", "the bot's own")
    counts = database.look(deliveries.counts)
    assert (counts.accepted, counts.filtered) == (0, 1)


def test_a_replay_makes_a_new_event_of_what_is_stored(database: Database) -> None:
    one = arrived()
    accept(database, one)
    (before,) = database.look(events.waiting, 200.0, 10)
    database.submit(events.decided, before.id, "[]", 5.0).result(10)
    made = database.submit(events.again, one.id, 9.0).result(10)
    (event,) = database.look(events.waiting, 200.0, 10)
    assert (event.id, event.body) == (made, one.body) and made > before.id
    with pytest.raises(BadData, match="no delivery 'nothing'"):
        database.submit(events.again, "nothing", 9.0).result(10)
