"""What is kept no longer: documents of old deliveries, our own old events, folders that killed runs left."""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import Connection, delete, select, update

from fordjent import threads
from fordjent.context import Context
from fordjent.store import counters
from fordjent.store.schema import deliveries, events, inputs, runs
from harness import folders

KEPT_SECONDS = 30 * 86400.0
"""Documents of deliveries, and events of timers: their rows, and all counts, stay."""
LEFT_SECONDS = 3600.0
"""A folder of a run that is over, or unknown, goes when it is that old."""
AT_ONCE = 500
BATCHES = 20
"""At most so many in one go: the rest the next time."""


async def prune(context: Context) -> None:
    """Repeatable, and bounded: other writers come in between."""
    for _ in range(BATCHES):
        done = await context.database.write(old_rows, time.time() - KEPT_SECONDS)
        if not done:
            break
    open_runs = await context.database.read(unfinished)
    gone = await threads.run(sweep, context.config.state_dir / "runs", open_runs, time.time() - LEFT_SECONDS)
    if gone:
        context.log.info("pruned", run_folders=gone)


def old_rows(connection: Connection, before: float) -> int:
    """Empty the documents of deliveries that were decided, and delete our own events; how many, up to a bound."""
    undecided = select(events.c.id).where(events.c.delivery == deliveries.c.id, events.c.state != "decided")
    old = select(deliveries.c.seq).where(
        deliveries.c.received_at < before, deliveries.c.body != b"", ~undecided.exists()
    )
    emptied = connection.execute(
        update(deliveries).where(deliveries.c.seq.in_(old.limit(AT_ONCE))).values(body=b"")
    )
    used = select(inputs.c.id).where(inputs.c.event == events.c.id)
    ours = select(events.c.id).where(
        events.c.delivery.is_(None),
        events.c.state == "decided",
        events.c.created_at < before,
        ~used.exists(),
    )
    deleted = connection.execute(delete(events).where(events.c.id.in_(ours.limit(AT_ONCE))))
    if deleted.rowcount:
        counters.add(connection, counters.PRUNED_EVENTS, deleted.rowcount)
    return emptied.rowcount + deleted.rowcount


def unfinished(connection: Connection) -> set[str]:
    return {row.id for row in connection.execute(select(runs.c.id).where(runs.c.outcome == ""))}


def sweep(root: Path, open_runs: set[str], before: float) -> int:
    """Remove folders of runs that are over; how many."""
    left = [
        path
        for path in (root.iterdir() if root.is_dir() else ())
        if path.name not in open_runs and path.lstat().st_mtime < before
    ]
    for path in left:
        folders.remove(path)
    return len(left)
