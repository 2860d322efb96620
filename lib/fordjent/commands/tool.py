"""fordjent-tool: one of an agent's tools, by hand or from an agent CLI."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fordjent.cli import LoggingCommand
from harness import process
from harness.command_line import cli
from harness.errors import EX_OK, BadData, TryLater, Usage

if TYPE_CHECKING:
    from fordjent.models.messages import ToolSpec
    from fordjent.roles.roles import Role
    from fordjent.tools.wire import Answer, Request

VARIABLE = "FORDJENT_SOCKET"
LONGEST_ARGUMENTS = 4_000_000
SECONDS = 3600.0
"""Until an answer must have come: no tool takes longer."""
FAILED = 1


class Tool(LoggingCommand):
    """Use one of an agent's tools: its arguments are a JSON object on stdin, what it says goes to stdout.

    In a session (where $FORDJENT_SOCKET is set) the server does it, with the session's rights. Else it is
    yours, with your config.toml: local tools work in the current folder, tools of the forge in the repository
    that --session or --repository names. Exit 1: the tool failed, and says why.
    """

    PROGNAME = "fordjent-tool"
    DESCRIPTION_MORE = (
        "Example:  echo '{\"issue_number\": 42}' | fordjent-tool --repository acme/widget forgejo_get_issue"
    )

    list_all = cli.Flag(["--list"], help="list the tools, a line each")
    schema = cli.SwitchAttr(
        ["--schema"], str, argname="NAME", default="", help="show the JSON Schema of a tool's arguments"
    )
    role = cli.SwitchAttr(["--role"], str, argname="ROLE", default="", help="only what that role may use")
    repository = cli.SwitchAttr(
        ["--repository"], str, argname="OWNER/NAME", default="", help="the repository on the forge"
    )
    session = cli.SwitchAttr(
        ["--session"], str, argname="KEY", default="", help="its issue or pull request: owner/name/issues/42"
    )

    def main(self, name: str = "") -> int:
        if self.list_all + bool(self.schema) + bool(name) != 1:
            raise Usage("name one tool, or give --list or --schema", hint="--help has an example")
        socket = os.environ.get(VARIABLE, "")
        if name:
            return _tell(self._by_server(Path(socket), name) if socket else self._by_hand(name))
        specs = self._specs(Path(socket) if socket else None)
        if self.list_all:
            for spec in specs:
                print(f"{spec.name}\t{spec.description.splitlines()[0]}")
            return EX_OK
        found = next((spec for spec in specs if spec.name == self.schema), None)
        if found is None:
            raise Usage(f"there is no tool {self.schema!r}", hint="--list shows all")
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(found.parameters), indent=2) + b"\n")
        return EX_OK

    # ---- in a session

    def _by_server(self, path: Path, name: str) -> Answer:
        from fordjent.tools.wire import Request

        return _ask(path, Request(name=name, arguments=_arguments()))

    def _specs(self, path: Path | None) -> list[ToolSpec]:
        if path:
            from fordjent.tools.wire import Request

            return _ask(path, Request(do="list")).tools
        from fordjent.tools.registry import TOOLS

        if not self.role:
            return [tool.spec for tool in TOOLS.values()]
        from fordjent.tools.permission import names

        return [TOOLS[name].spec for name in names(_role(self.role), self.load_config())]

    # ---- by hand

    def _by_hand(self, name: str) -> Answer:
        import asyncio

        from fordjent.tools import by_hand

        process.hide_memory()  # what a tool runs must not read the tokens in it
        by_hand.check(name)
        arguments = _arguments()
        config = self.load_config()
        self.begin_log(config)
        return asyncio.run(
            by_hand.use(
                config,
                name,
                arguments,
                role=_role(self.role) if self.role else None,
                repository=self.repository,
                session=self.session,
            )
        )


def _arguments() -> str:
    """
    Raises:
        BadData: more than a tool takes.
    """
    if sys.stdin.isatty():
        return "{}"
    data = sys.stdin.buffer.read(LONGEST_ARGUMENTS + 1)
    if len(data) > LONGEST_ARGUMENTS:
        raise BadData(f"the arguments are longer than {LONGEST_ARGUMENTS} bytes")
    return data.decode("utf-8", "replace")


def _ask(path: Path, request: Request) -> Answer:
    from fordjent.tools import wire

    try:
        return wire.ask(path, request, SECONDS)
    except OSError as error:
        raise TryLater(
            f"the session at {path} does not answer: {error.strerror or error}",
            hint="its run has ended; without $FORDJENT_SOCKET the tool is yours",
        ) from error


def _role(name: str) -> Role:
    """
    Raises:
        Usage: there is no such role.
    """
    from fordjent.roles.roles import ROLES

    if name not in ROLES:
        raise Usage(f"--role: there is no role {name!r}", hint=f"there are {', '.join(ROLES)}")
    return ROLES[name]


def _tell(answer: Answer) -> int:
    sys.stdout.buffer.write(answer.text.encode("utf-8", "replace") + b"\n")
    return FAILED if answer.failed else EX_OK


def main() -> None:
    Tool.start()
