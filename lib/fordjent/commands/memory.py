"""fordjent-memory: what a session said and did."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from fordjent.cli import Command
from harness.command_line import cli

if TYPE_CHECKING:
    from fordjent.memory.entries import Entry


class Memory(Command):
    """Show what a session was told, said and did: a table on a terminal, JSON lines when piped.

    They are the lines of its memory.jsonl in the state folder, brought up to date from the database first.
    """

    PROGNAME = "fordjent-memory"
    DESCRIPTION_MORE = "Example:  fordjent-memory acme/widget/issues/42 --tool bash --since 2h --limit 20"

    tool = cli.SwitchAttr(["--tool"], str, argname="NAME", default="", help="calls of that tool only")
    since = cli.SwitchAttr(
        ["--since"], str, argname="WHEN", default="", help='"2026-01-31T02:00:00Z", or how long ago: "2h"'
    )
    grep = cli.SwitchAttr(
        ["--grep"], str, argname="REGEX", default="", help="where that is found, in small or capital letters"
    )
    limit = cli.SwitchAttr(["--limit"], int, argname="N", default=0, help="the newest N; 0: all")
    as_json = cli.Flag(["--json"], help="JSON lines on a terminal too")

    def main(self, key: str) -> int:
        from fordjent.context import open_database, redactor_of
        from fordjent.memory import reading
        from fordjent.memory.journal import Journal
        from fordjent.session_key import SessionKey
        from fordjent.store import sessions
        from harness.errors import BadData

        asked = SessionKey.parse(key)
        wanted = reading.wanted(self.tool, self.since, self.grep, self.limit)
        config = self.load_config()
        journal = Journal.of(config.state_dir, asked)
        database = open_database(config)
        try:
            if database.look(sessions.get, key) is None and not journal.path.exists():
                raise BadData(f"there is no session {key}", hint="fordjent-status lists the last ones")
            journal.bring_up(database, redactor_of(config))
        finally:
            database.close()
        found = reading.chosen(journal.read(), wanted)
        if sys.stdout.isatty() and not self.as_json:
            _show(found)
        else:
            for entry in found:
                sys.stdout.buffer.write(msgspec.json.encode(entry) + b"\n")
        return 0


def _show(entries: Iterable[Entry]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("when", "turn", "what", "text")
    for entry in entries:
        if entry.event_type == "tool_call":
            done = f"{entry.tool_args}\n{entry.tool_result}"
            table.add_row(entry.timestamp, str(entry.turn), f"{entry.tool_name} ({entry.tool_state})", done)
        else:
            text = entry.input or entry.response or f"calls {', '.join(entry.calls)}"
            table.add_row(entry.timestamp, str(entry.turn), entry.event_type, text)
    Console(highlight=False, markup=False, emoji=False).print(table)


def main() -> None:
    Memory.start()
