"""`ent-agent-ent`: a compatible `ent` without a checkout; what an agent finds on its PATH as `ent`."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ent_agent.tracker import arguments, home
from ent_agent.tracker.arguments import EX_WRONG, Answered, Asked
from ent_agent.tracker.home import Home
from ent_agent.tracker.terminal import say, warn
from harness.errors import Failure
from harness.streams import open_closed_streams, speak_utf8

EX_FAILED = 1  # entomologist's own exit codes, not sysexits: 0, 1, and 2 for the command line


def main() -> NoReturn:
    """Run as a program."""
    # Among 10,000 issues the collector, and taking everything apart at the end, are a tenth of the time.
    gc.disable()
    open_closed_streams()
    speak_utf8()
    exit_code = run(sys.argv[1:], Path(sys.argv[0]).name)
    os._exit(exit_code)


def run(words: list[str], program: str = "ent") -> int:
    """Do what the command line says; the exit code."""
    try:
        exit_code = _do(words, program)
        sys.stdout.flush()
        return exit_code
    except BrokenPipeError:  # `ent list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _do(words: list[str], program: str) -> int:
    try:
        asked = arguments.parse(words, program)
        _verb(asked.command)(home.find(asked.branch), asked)
        return 0
    except Answered as answer:
        if answer.exit_code == EX_WRONG:
            warn(answer.text.rstrip("\n"))
        else:
            say(answer.text)
        return answer.exit_code
    except Failure as failure:
        warn(f"Error: {failure.message}")
        if failure.hint:
            warn(f"  {failure.hint}")
        return EX_FAILED


def _verb(name: str) -> Callable[[Home, Asked], None]:
    """What a command does; only what it needs is imported."""
    if name in ("list", "show"):
        from ent_agent.tracker import views

        return views.list_ if name == "list" else views.show
    from ent_agent.tracker.verbs import VERBS

    return VERBS[name]
