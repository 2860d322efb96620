"""Many deliveries at once, and kill -9 in the middle: what was acknowledged is there, once."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

from tests.support import senders, server

DELIVERIES = 3000


def test_what_was_acknowledged_before_kill_9_is_there_once_and_the_rest_can_be_sent_again(
    place: Path,
) -> None:
    config = server.write_config(place)
    ids = [f"flood-{number}" for number in range(DELIVERIES)]
    with server.started(config) as one:
        killer = threading.Thread(target=kill_when_half_full, args=(place / "state/fordjent.db", one))
        killer.start()
        before = senders.send(one.address, server.SECRET, ids)
        killer.join(20)
    assert before.broke_off and not before.refused
    assert 0 < len(before.acknowledged) < DELIVERIES
    stored = set(of(place, "SELECT id FROM deliveries"))
    assert set(before.acknowledged) <= stored
    with server.started(config) as one:
        after = senders.send(one.address, server.SECRET, ids)
    assert len(after.acknowledged) == DELIVERIES and not after.refused
    assert sorted(of(place, "SELECT id FROM deliveries")) == sorted(ids)
    assert sorted(of(place, "SELECT delivery FROM events")) == sorted(ids)
    assert of(place, "SELECT sum(duplicates) FROM deliveries") == [len(stored)]


def kill_when_half_full(database: Path, one: server.Server) -> None:
    deadline = time.monotonic() + 15
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        while time.monotonic() < deadline:
            if connection.execute("SELECT count(*) FROM events").fetchone()[0] > DELIVERIES // 4:
                break
            time.sleep(0.005)
    one.kill()


def of(place: Path, query: str) -> list[object]:
    with sqlite3.connect(place / "state/fordjent.db") as connection:
        return [row[0] for row in connection.execute(query)]
