"""The command: see the package. Runs by path too: `python -I …/harness/acp/__main__.py`."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

if not __package__:
    # Started in a stranger's repository, where `-m` would search the current folder for modules.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.acp.outcome import EXIT_CODES, FailureSigns, Result
from harness.acp.progress import Progress
from harness.command_line import cli
from harness.errors import EX_USAGE, Missing

if TYPE_CHECKING:
    from harness.acp.conversation import Policy


class Acp(cli.Application):
    """Send the prompt on stdin to an agent that speaks the Agent Client Protocol; show what it does.

    Example: python -m harness.acp --max-turns 60 -- hermes-acp < prompt.md
    """

    PROGNAME = "harness.acp"
    VERSION = "0.1.0"
    DESCRIPTION_MORE = "Exit codes: " + ", ".join(f"{code} {name}" for name, code in EXIT_CODES.items())

    model = cli.SwitchAttr("--model", str, default="", help="by the agent's own name for it")
    mode = cli.SwitchAttr("--mode", str, default="", help="session mode, as the agent calls it")
    policy = cli.SwitchAttr(
        "--permission", cli.Set("allow", "reject"), default="allow", help="answer to what the agent asks"
    )
    max_turns = cli.SwitchAttr("--max-turns", int, default=0, help="tool calls, then cancel; 0: no limit")
    tools_server = cli.SwitchAttr(
        "--tools-server", str, default="", help="program of a server of tools (MCP) that the agent may use"
    )
    start_seconds = cli.SwitchAttr("--start-timeout", float, default=120.0, help="seconds to open a session")
    cancel_seconds = cli.SwitchAttr("--cancel-timeout", float, default=5.0, help="seconds to take a cancel")
    usage_expected = cli.Flag("--usage-expected", help="an answer without usage is a failure")
    failure_text = cli.SwitchAttr("--failure-text", str, default="", help="pattern of a failed answer")

    def main(self, *command: str) -> int:
        from harness.acp.session import Options, converse

        if not command:
            print("harness.acp: no agent command; give it after --", file=sys.stderr)
            return EX_USAGE
        options = Options(
            command=command,
            policy=cast("Policy", self.policy),
            model=self.model,
            mode=self.mode,
            max_turns=self.max_turns,
            tools_server=self.tools_server,
            start_seconds=self.start_seconds,
            cancel_seconds=self.cancel_seconds,
            signs=FailureSigns(no_usage=self.usage_expected, text=self.failure_text),
        )
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
        progress = Progress(sys.stdout.buffer)
        logging.basicConfig(handlers=[_Notes(progress)], force=True)
        try:
            return asyncio.run(converse(options, prompt, progress)).exit_code
        except Missing as missing:
            progress.end(Result(stop_reason="error", error=missing.message))
            return missing.exit_code


class _Notes(logging.Handler):
    """What the library logs, a bounded line each."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        why = record.exc_info[1] if record.exc_info else None
        self._progress.say("note", text=f"{record.getMessage()}{f': {why}' if why else ''}")


if __name__ == "__main__":
    _, exit_code = Acp.run(exit=False)
    sys.exit(EX_USAGE if exit_code == 2 else exit_code)
