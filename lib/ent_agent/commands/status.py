"""ent-agent-status: tasks, what waits for whom, and the last runs."""

from __future__ import annotations

import sys

import msgspec

from ent_agent.cli import Command
from harness.command_line import cli


class Status(Command):
    """Show tasks, what waits for whom, and the last runs: a table on a terminal, JSON when piped."""

    PROGNAME = "ent-agent-status"
    DESCRIPTION_MORE = "Example:  ent-agent-status | jq '.tasks[] | select(.ready) | .title'"

    last_runs = cli.SwitchAttr(
        ["--runs"], cli.Range(0, 10000), argname="N", default=10, help="how many of the last runs"
    )

    def main(self) -> int:
        from ent_agent.status import status

        gathered = status.gather(self.load_config(), self.last_runs)
        if sys.stdout.isatty():
            from rich.console import Console

            from ent_agent.status import tables

            tables.show(gathered, Console(highlight=False, markup=False, emoji=False))
        else:
            sys.stdout.buffer.write(msgspec.json.encode(gathered) + b"\n")
        return 0


def main() -> None:
    Status.start()
