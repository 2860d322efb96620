"""ent-agent-prune: remove what finished issues and old runs left, where nothing is lost by it."""

from __future__ import annotations

import sys

import msgspec

from ent_agent.cli import Command
from ent_agent.housekeeping.retention import DAY_SECONDS, Removal, Rules
from harness import config as toml
from harness.command_line import cli


class Prune(Command):
    """Remove worktrees and branches of finished issues, and old runs; say what is kept, and why.

    Each goes only with proof: origin says that the issue is finished or a person's, and has
    every commit and file of it. One JSON object a line when piped.
    """

    PROGNAME = "ent-agent-prune"
    DESCRIPTION_MORE = "Example:  ent-agent-prune --dry-run | jq -r 'select(.verdict == \"kept\") | .reason'"

    dry_run = cli.Flag(["-n", "--dry-run"], help="remove nothing; say what would be")
    keep_runs = cli.SwitchAttr(
        ["--keep-runs"],
        cli.Range(0, 10**9),
        argname="N",
        default=Rules().keep_runs,
        help="the newest N runs stay",
    )
    keep_days = cli.SwitchAttr(
        ["--keep-days"],
        cli.Range(0, 10**6),
        argname="D",
        default=int(Rules().keep_days),
        help="runs of the last D days stay",
    )
    kept_older_than = cli.SwitchAttr(
        ["--kept-older-than"],
        str,
        argname="AGE",
        default="",
        help='also remove what was put aside for a person (refs/ent-agent/kept/, quarantine/) longer ago than, say, "90d"',
    )

    def main(self) -> int:
        from ent_agent.housekeeping import pruning
        from ent_agent.records import Record
        from ent_agent.repositories import identity, syncing

        config = self.load_config()
        rules = Rules(keep_runs=self.keep_runs, keep_days=float(self.keep_days), kept_days=self._kept_days())
        identity.ensure(config)
        syncing.sync(Record(), config)  # what origin has, and whose the issues are, as of now
        say = _show if sys.stdout.isatty() else _write
        for one in pruning.prune(config, rules, dry_run=self.dry_run):
            say(one)
        return 0

    def _kept_days(self) -> float | None:
        given = self.kept_older_than
        return toml.given_seconds("--kept-older-than", given) / DAY_SECONDS if given else None


def _write(one: Removal) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(one) + b"\n")
    sys.stdout.buffer.flush()


def _show(one: Removal) -> None:
    from harness.plain import plain

    print(f"{one.verdict.replace('_', ' '):13}{one.kind:11}{plain(one.name)}\n{'':24}{plain(one.reason)}")


def main() -> None:
    Prune.start()
