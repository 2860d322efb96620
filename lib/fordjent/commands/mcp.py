"""fordjent-mcp: a session's tools, for an agent CLI that speaks the Model Context Protocol."""

from __future__ import annotations

import os
from pathlib import Path

from fordjent.cli import Command
from fordjent.commands.tool import VARIABLE
from harness.errors import EX_OK, Usage


class Mcp(Command):
    """Serve the tools of a session over stdin and stdout, by the Model Context Protocol.

    An agent CLI starts it, in a session: the session at $FORDJENT_SOCKET does what is asked, with its own rights.
    """

    PROGNAME = "fordjent-mcp"
    DESCRIPTION_MORE = (
        "Example, for Claude Code:  claude --mcp-config "
        '\'{"mcpServers": {"fordjent": {"command": "fordjent-mcp"}}}\''
    )

    def main(self) -> int:
        socket = os.environ.get(VARIABLE, "")
        if not socket:
            raise Usage(
                f"${VARIABLE} is not set: there is no session",
                hint="agents of a session are given it; docs/agents.md says how",
            )
        import asyncio

        from fordjent.mcp import server
        from fordjent.mcp.session import Session

        asyncio.run(server.serve(Session(Path(socket))))
        return EX_OK


def main() -> None:
    Mcp.start()
