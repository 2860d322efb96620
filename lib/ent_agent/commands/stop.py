"""ent-agent-stop: ask the run of an issue to stop; its work is kept and pushed."""

from __future__ import annotations

import sys

import msgspec

from ent_agent.cli import Command
from harness import config as toml
from harness.command_line import cli
from harness.diagnostics import say
from harness.errors import TryLater


class Stop(Command):
    """Ask the run of an issue to stop, and wait: its work is committed and pushed, its attempt given back.

    The issue stays as it is, so a loop takes it up again at its next pass: pause it first
    (`invoke pause`), or give the issue to somebody else.
    """

    PROGNAME = "ent-agent-stop"
    DESCRIPTION_MORE = "Example:  invoke pause && ent-agent-stop 1a2b"

    now = cli.Flag(["--now"], help="do not wait for the agent to end by itself")
    wait = cli.SwitchAttr(
        ["--wait"],
        str,
        argname="TIME",
        default="",
        help='how long to wait for its end, e.g. "30s" (0s: not at all)',
    )

    def main(self, issue: str) -> int:
        from ent_agent.running import stopping

        wait_seconds = toml.given_seconds("--wait", self.wait) if self.wait else None
        config = self.load_config()
        stopped = stopping.stop(config, issue, now=self.now, wait_seconds=wait_seconds)
        if stopped is None:
            say(f"issue {issue} is not being worked here")
            return 0
        if sys.stdout.isatty():
            print(f"issue {stopped.issue}: {WORDS[stopped.outcome]}")
        else:
            sys.stdout.buffer.write(msgspec.json.encode(stopped) + b"\n")
        if stopped.outcome == "asked" and wait_seconds != 0:
            raise TryLater(
                f"run {stopped.run} of issue {stopped.issue} has not ended yet",
                hint="--now ends the agent at once",
            )
        return 0


WORDS = {
    "saved": "stopped; its work is saved",
    "ended": "the agent has ended; `ent-agent-finalize --pending` saves its work",
    "asked": "asked to stop",
    "dead": "it had died; `ent-agent-finalize --pending` saves its work",
}


def main() -> None:
    Stop.start()
