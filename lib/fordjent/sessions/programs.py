"""The tools of a session as programs on the PATH of an agent CLI, and as a server of them (MCP): thin clients of
the session's socket."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from harness import atomic, folders

PROGRAM = (
    "import sys; sys.path.insert(0, {library!r}); sys.argv[0] = 'fordjent-tool'; "
    "from fordjent.commands.tool import main; main()"
)
SERVER_PROGRAM = PROGRAM.replace("fordjent-tool", "fordjent-mcp").replace("commands.tool", "commands.mcp")
SHIM = """#!/bin/sh
exec {python} -I -c {program} {name}"$@"
"""
SERVER_SHIM = """#!/bin/sh
# Some CLIs hand on nothing of their environment.
FORDJENT_SOCKET={socket} exec {python} -I -c {program} "$@"
"""
PATH_SCRIPT = """# Login shells, which some agent CLIs use for each command, set PATH anew; bash reads this after that.
case "$PATH" in {folder}:*) ;; *) PATH={folder}:$PATH ;; esac
"""


def make(folder: Path, names: Iterable[str], socket: Path) -> Path:
    """`fordjent-tool`, one program per name, and `fordjent-mcp` for the socket, anew; returns a script that puts them
    on PATH again.

    Names of programs that the agent has already (`git`, `bash`) are no names of tools here.
    """
    folders.remove(folder)
    folder.mkdir(mode=0o700, parents=True)
    for name in ("fordjent-tool", *names):
        word = "" if name == "fordjent-tool" else f"{shlex.quote(name)} "
        _write(folder / name, SHIM, PROGRAM, name=word)
    _write(server(folder), SERVER_SHIM, SERVER_PROGRAM, socket=shlex.quote(str(socket)))
    script = folder / "path.sh"
    atomic.write_bytes(script, PATH_SCRIPT.format(folder=shlex.quote(str(folder))).encode(), durable=False)
    return script


def server(folder: Path) -> Path:
    """The program that serves the tools by the Model Context Protocol."""
    return folder / "fordjent-mcp"


def _write(path: Path, shim: str, program: str, **values: str) -> None:
    library = str(Path(__file__).resolve().parents[2])
    quoted = shlex.quote(program.format(library=library))
    text = shim.format(python=shlex.quote(sys.executable), program=quoted, **values)
    atomic.write_bytes(path, text.encode(), 0o755, durable=False)
