"""fordjent-status: deliveries, sessions, queue and costs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import msgspec

from fordjent.cli import Command

if TYPE_CHECKING:
    from fordjent.store.numbers import Status as Numbers


class Status(Command):
    """Show deliveries, sessions, queue and costs from the database: a table on a terminal, JSON when piped."""

    PROGNAME = "fordjent-status"
    DESCRIPTION_MORE = "Example:  fordjent-status | jq .sessions"

    def main(self) -> int:
        config = self.load_config()

        from fordjent.context import open_database
        from fordjent.store import statistics

        database = open_database(config)
        try:
            found = database.look(statistics.status, time.time())
        finally:
            database.close()
        if sys.stdout.isatty():
            _show(found)
        else:
            sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
        return 0


def _show(found: Numbers) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, emoji=False)
    tables = {
        "deliveries": msgspec.structs.asdict(found.deliveries),
        "sessions": found.sessions,
        "queue": msgspec.structs.asdict(found.queue),
        "since the beginning": msgspec.structs.asdict(found.metrics),
    }
    for title, rows in tables.items():
        table = Table("", "", title=title, title_justify="left", show_header=False)
        for name, value in rows.items():
            table.add_row(name, str(value))
        console.print(table)
    changes = Table("when", "session", "from", "to", "why", title="last changes", title_justify="left")
    for change in found.lifecycle.recent_transitions:
        changes.add_row(
            change.timestamp, change.session_key, change.from_state, change.to_state, change.reason
        )
    console.print(changes)


def main() -> None:
    Status.start()
