"""ent-agent-select: the agent's issues in the order in which they are to be worked."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ent_agent.cli import Step
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.selection import selection
from harness.command_line import cli
from harness.diagnostics import say
from harness.errors import Usage


class Select(Step):
    """List the agent's issues in the order in which they are to be worked, as the last sync found them."""

    PROGNAME = "ent-agent-select"
    DESCRIPTION_MORE = "Example:  ent-agent-select --all | jq -r '[.issue.id, .skipped // \"ready\"] | @tsv'"
    needs = ("agent", "repository")

    everything = cli.Flag(
        ["--all"], help="also those that are passed over, each with the reason in `skipped`"
    )
    limit = cli.SwitchAttr(
        ["--limit"], int, argname="N", default=None, help="at most N that are to be worked"
    )
    issue = cli.SwitchAttr(
        ["--issue"], str, argname="ID", default="", help="only this issue; a unique prefix will do"
    )

    def work(self, record: Record, config: Config) -> Iterator[Record]:
        if self.limit is not None and self.limit < 0:
            raise Usage("--limit takes a number from 0 on")
        if not self.everything and (why := selection.stop(config, time.time())):
            say(f"nothing is to be begun: {why}")
        yield from selection.select(
            record, config, everything=self.everything, issue=self.issue, limit=self.limit
        )


def main() -> None:
    Select.start()
