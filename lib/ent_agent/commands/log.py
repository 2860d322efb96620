"""ent-agent-log: what the runs of an issue printed, and how they ended."""

from __future__ import annotations

import sys

from ent_agent.cli import Command
from harness.command_line import cli


class Log(Command):
    """Show what the runs of an issue printed and how they ended, oldest first."""

    PROGNAME = "ent-agent-log"
    DESCRIPTION_MORE = "Example:  ent-agent-log 1a2b -f"

    follow = cli.Flag(
        ["-f", "--follow"], help="show the run that is at work only, as it goes on, until it ends"
    )

    def main(self, issue: str) -> int:
        from ent_agent.status import history

        config = self.load_config()
        found = history.of_issue(config, issue)
        for run in found[-1:] if self.follow else found:
            for line in history.show(config, run, follow=self.follow):
                sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
                sys.stdout.buffer.flush()
        return 0


def main() -> None:
    Log.start()
