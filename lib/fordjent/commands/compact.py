"""fordjent-compact: summaries of finished issues, brought into their repositories."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fordjent.cli import LoggingCommand
from harness.command_line import cli
from harness.errors import EX_OK, EX_TEMPFAIL

if TYPE_CHECKING:
    from fordjent.config import Config
    from fordjent.memory.compaction import Done


class Compact(LoggingCommand):
    """Sum up finished issues, and bring the summaries into each repository by its standing pull request.

    The server does it by itself at memory.compaction_time. A line of JSON for each repository. Exit code
    0: done, 1: something failed, 75: it may go well later.
    """

    PROGNAME = "fordjent-compact"
    DESCRIPTION_MORE = "Example:  fordjent-compact --repository acme/widget"

    repository = cli.SwitchAttr(
        ["--repository"], str, argname="OWNER/NAME", default="", help="that one only; else all"
    )

    def main(self) -> int:
        import asyncio

        import msgspec

        from fordjent.session_key import is_repository
        from harness.errors import Usage

        if self.repository and not is_repository(self.repository):
            raise Usage(f"--repository {self.repository!r} is no repository", hint="like owner/name")
        config = self.load_config()
        self.begin_log(config)
        done = asyncio.run(_compact(config, self.repository))
        for one in done:
            sys.stdout.buffer.write(msgspec.json.encode(one) + b"\n")
        failed = [one for one in done if one.state == "failed"]
        if not failed:
            return EX_OK
        return EX_TEMPFAIL if all(one.retry for one in failed) else 1


async def _compact(config: Config, repository: str) -> list[Done]:
    from fordjent.context import Context
    from fordjent.memory.compaction import Compactor

    async with Context.open(config) as context:
        return await Compactor(context).all(repository)


def main() -> None:
    Compact.start()
