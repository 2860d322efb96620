"""fordjent-setup: make repositories ready."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fordjent.cli import LoggingCommand
from harness.command_line import cli
from harness.errors import Usage

if TYPE_CHECKING:
    from fordjent.config import Config
    from harness.doctor.findings import Finding


class Setup(LoggingCommand):
    """Make repositories ready: webhook, labels, the bot as a collaborator. Repeatable: it mends what is there.

    $FORDJENT_SETUP_TOKEN, a token of somebody who administrates the repositories, is used where the bot
    does not; it is kept nowhere. A server that runs need not be ended. Exit code 78: something was refused.
    """

    PROGNAME = "fordjent-setup"
    DESCRIPTION_MORE = "Example:  fordjent-setup --url https://fordjent.example.org acme/widget acme/gadget"

    adopt = cli.Flag(["--adopt"], help="begin the issues and pull requests that are open already")
    url = cli.SwitchAttr(
        ["--url"],
        str,
        argname="URL",
        default="",
        help="where the forge reaches the server; else server.public_url",
    )
    json = cli.Flag(["--json"], help="a JSON object a line on a terminal too")

    def main(self, *repositories: str) -> int:
        from fordjent.session_key import is_repository
        from harness.doctor.showing import told

        config = self.load_config()
        wrong = [name for name in repositories if not is_repository(name)]
        if wrong or not repositories:
            said = f"{wrong[0]!r} is no repository" if wrong else "name a repository"
            raise Usage(said, hint="like: fordjent-setup owner/name")
        url = self._address(config)

        import asyncio

        self.begin_log(config)
        found = asyncio.run(_set_up(config, repositories, url, adopt=bool(self.adopt)))
        return told(found, as_json=bool(self.json) or not sys.stdout.isatty())

    def _address(self, config: Config) -> str:
        from urllib.parse import urlsplit

        url = str(self.url) or config.server.public_url
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Usage(
                f"{url!r} is no address to deliver to" if url else "where does the forge reach the server?",
                hint="set server.public_url in config.toml, or --url https://fordjent.example.org",
            )
        return url


async def _set_up(config: Config, names: tuple[str, ...], url: str, *, adopt: bool) -> list[Finding]:
    from fordjent.context import Context
    from fordjent.operations.setting_up import ADMIN_TOKEN, SetUp

    found: list[Finding] = []
    async with Context.open(config) as context:
        admin = context.forge.as_role(os.environ.get(ADMIN_TOKEN, ""))
        for name in names:
            found += await SetUp(context, name, url=url, admin=admin).run(adopt=adopt)
    return found


def main() -> None:
    Setup.start()
