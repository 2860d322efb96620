"""Issues that wait for others are in the numbers of the status."""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import Connection, create_engine

from fordjent.deciding.actions import Input
from fordjent.store import migrating, statistics, waiting_issues
from fordjent.store.numbers import Held, WaitingIssues
from harness.clock import timestamp

NOW = 1_800_000_000.0
MANY = statistics.RECENT + 5


def test_the_status_counts_all_issues_that_wait_and_lists_the_oldest_with_what_they_wait_for(
    place: Path,
) -> None:
    def fill(connection: Connection) -> None:
        for number in range(1, MANY + 1):
            key = f"acme/widget/issues/{number}"
            told = Input(kind="opened", source=f"issue:{number}", author="alice", text="Do it")
            waiting_issues.put(connection, key, "coder", told, NOW + MANY - number, by_person=False)
            waiting_issues.note(connection, key, [number + 1, number + 2], True)

    engine = create_engine(f"sqlite:///{place / 'fordjent.db'}")
    migrating.upgrade(engine)
    with engine.begin() as connection:
        fill(connection)
        found = statistics.status(connection, time.time()).waiting_issues

    assert found == WaitingIssues(
        MANY,
        [
            Held(f"acme/widget/issues/{number}", [number + 1, number + 2], timestamp(NOW + MANY - number))
            for number in range(MANY, MANY - statistics.RECENT, -1)
        ],
    )
