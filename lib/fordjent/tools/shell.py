"""bash."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fordjent.tools import programs
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness.errors import BadData

LONGEST_SECONDS = 900
LONGEST_COMMAND = 100_000
"""Characters: the kernel takes 128 KiB in one word (execve(2))."""


class Bash(Arguments, frozen=True):
    """Run a command with bash in the worktree: build, test, look around.

    It reads nothing (stdin is closed), gets no credentials, and ends with everything that it started:
    a server in the background does not outlive the call. Long output loses its middle.
    """

    command: Annotated[str, Meta(description="What bash is to run", min_length=1, max_length=LONGEST_COMMAND)]
    timeout: Annotated[
        int, Meta(description=f"Seconds until it is killed, at most {LONGEST_SECONDS}", ge=1)
    ] = 120


async def bash(scope: Scope, asked: Bash) -> Outcome:
    if "\0" in asked.command:
        raise BadData("command: holds a NUL")
    timeout_seconds = min(asked.timeout, LONGEST_SECONDS)
    ran = await programs.run(scope.ground, ["bash", "-c", asked.command], scope.redactor, timeout_seconds)
    return Outcome(ran.told(timeout_seconds), failed=not ran.ok)


TOOLS = (Tool("bash", Bash, bash, again=False),)
