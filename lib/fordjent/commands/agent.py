"""fordjent-agent: let a model work in the current folder."""

from __future__ import annotations

import sys

from fordjent.cli import Command
from harness import config as toml
from harness import process
from harness.command_line import cli
from harness.errors import EX_OK, EX_TEMPFAIL, Usage

MAX_TURNS = 100
EXIT_CODES = {
    "answered": EX_OK,
    "ended_by_tool": EX_OK,
    "max_turns": EX_TEMPFAIL,
    "timeout": EX_TEMPFAIL,
    "budget": EX_TEMPFAIL,
    "no_progress": 1,
    "cancelled": 130,
}


class Agent(Command):
    """Do what the prompt on standard input says, in the current folder.

    Events go to stdout, one JSON object a line; the last one, "result", has outcome, text, usage and cost.
    """

    PROGNAME = "fordjent-agent"
    DESCRIPTION_MORE = (
        "Example:  echo 'Add a test for parse().' | fordjent-agent --provider main --max-turns 30"
    )

    provider = cli.SwitchAttr(
        ["--provider"], str, argname="NAME", default="", help="of config.toml's [providers.*]; else the first"
    )
    max_turns = cli.SwitchAttr(
        ["--max-turns"],
        str,
        argname="N",
        default=str(MAX_TURNS),
        help="end after N answers",
    )

    def main(self) -> int:
        import asyncio

        from fordjent.agent import local, settings

        process.hide_memory()  # what the model runs must not read the key in our environment
        turns = toml.given_number("--max-turns", self.max_turns)
        if turns < 1:
            raise Usage("--max-turns: at least 1")
        found = settings.load(self.config_path or None)
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
        if not prompt:
            raise Usage("no prompt on standard input", hint="echo 'Do …' | fordjent-agent")
        provider = self.provider or next(iter(found.providers))
        ended = asyncio.run(local.work(found, provider, prompt, turns))
        return ended.failure.exit_code if ended.failure else EXIT_CODES[ended.reason]


def main() -> None:
    Agent.start()
