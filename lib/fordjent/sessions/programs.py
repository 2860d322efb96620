"""The tools of a session as programs on the PATH of an agent CLI: thin clients of the session's socket."""

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
SHIM = """#!/bin/sh
exec {python} -I -c {program} {name}"$@"
"""
PATH_SCRIPT = """# Login shells, which some agent CLIs use for each command, set PATH anew; bash reads this after that.
case "$PATH" in {folder}:*) ;; *) PATH={folder}:$PATH ;; esac
"""


def make(folder: Path, names: Iterable[str]) -> Path:
    """`fordjent-tool` and one program per name, anew; returns a script that puts them on PATH again.

    Names of programs that the agent has already (`git`, `bash`) are no names of tools here.
    """
    folders.remove(folder)
    folder.mkdir(mode=0o700, parents=True)
    library = str(Path(__file__).resolve().parents[2])
    program = shlex.quote(PROGRAM.format(library=library))
    python = shlex.quote(sys.executable)
    for name in ("fordjent-tool", *names):
        word = "" if name == "fordjent-tool" else f"{shlex.quote(name)} "
        shim = SHIM.format(python=python, program=program, name=word)
        atomic.write_bytes(folder / name, shim.encode(), 0o755, durable=False)
    script = folder / "path.sh"
    atomic.write_bytes(script, PATH_SCRIPT.format(folder=shlex.quote(str(folder))).encode(), durable=False)
    return script
