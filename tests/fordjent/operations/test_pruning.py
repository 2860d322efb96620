"""Old documents and left-overs go; what is counted, waits, or runs stays."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from sqlalchemy import Connection, select, update

from fordjent.operations import pruning
from fordjent.serving import metrics
from fordjent.store import deliveries, events
from fordjent.store import schema as tables
from tests.support.context import opened
from tests.support.office import store

HEADERS = {"X-Forgejo-Event": "push", "X-Forgejo-Event-Type": "push"}
BODY = b'{"repository": {"full_name": "acme/widget"}}'


def test_documents_of_old_deliveries_go_when_they_are_decided(place: Path) -> None:
    with opened(place) as context:

        async def story() -> None:
            for name in ("old", "waits", "new"):
                await store(context, {**HEADERS, "X-Forgejo-Delivery": name}, BODY)
            write, look, now = context.database.write, context.database.read, time.time()
            await write(lambda c: [events.decided(c, number, "", now) for number in (1, 3)])
            ages = update(tables.deliveries).where(tables.deliveries.c.id != "new").values(received_at=1.0)
            await write(lambda c: c.execute(ages))
            await write(events.add, "reconcile", "acme/widget", 0, 1.0)
            await write(events.decided, 4, "", 2.0)
            await pruning.prune(context)
            assert await look(deliveries.body, "old") == b""
            assert await look(deliveries.body, "waits") == BODY == await look(deliveries.body, "new")
            assert (await look(deliveries.counts)).accepted == 3
            left = await look(lambda c: sorted(row.id for row in c.execute(select(tables.events.c.id))))
            assert left == [1, 2, 3]

        asyncio.run(story())


def test_folders_of_runs_that_are_over_go(place: Path) -> None:
    for name in ("runs/over", "runs/open", "runs/young"):
        (place / name).mkdir(parents=True)
    for name in ("over", "open"):
        os.utime(place / "runs" / name, (1, 1))
    assert pruning.sweep(place / "runs", {"open"}, time.time() - 60) == 1
    assert sorted(path.name for path in (place / "runs").iterdir()) == ["open", "young"]
    assert pruning.sweep(place / "none", set(), time.time()) == 0


def test_no_counter_of_the_metrics_falls_when_events_are_filtered_and_pruned(place: Path) -> None:
    with opened(place) as context:

        async def story() -> None:
            write, look, now = context.database.write, context.database.read, time.time()
            for name in ("one", "two"):
                await store(context, {**HEADERS, "X-Forgejo-Delivery": name}, BODY)
            for _ in range(3):
                mine = await write(events.add, "reconcile", "acme/widget", 0, 1.0)
                await write(events.decided, mine, "", 2.0)
            before = await look(totals)
            await write(deliveries.filtered, 1, "by the bot itself")
            await write(events.decided, 1, "", now)
            filtered = await look(totals)
            await pruning.prune(context)
            assert len(await look(lambda c: c.execute(select(tables.events.c.id)).all())) == 2
            after = await look(totals)
            assert before["fordjent_events_total"] == after["fordjent_events_total"] == 5
            for name, value in before.items():
                assert value <= filtered[name] <= after[name], name
            assert after['fordjent_deliveries_total{status="filtered"}'] == 1

        asyncio.run(story())


def totals(connection: Connection) -> dict[str, float]:
    """Each counter of the metrics."""
    lines = metrics.text(connection).decode().splitlines()
    named = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in named if name.split("{")[0].endswith("_total")}
