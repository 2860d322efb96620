"""fordjent-gate: ask one gate, or all of them, about a session's branch."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import msgspec

from fordjent.cli import LoggingCommand
from harness.command_line import cli
from harness.errors import EX_DATAERR, EX_OK, Usage

if TYPE_CHECKING:
    from fordjent.config import Config
    from fordjent.context import Context
    from fordjent.gates.gate import Proposal, Verdict
    from fordjent.session_key import SessionKey

NAMES = ("branch", "stale", "verify", "push", "merge_queue", "opening")


class Gate(LoggingCommand):
    """Pass the branch of a session through a gate, or through all in order, as forgejo_create_pr does.

    Each verdict is one line of JSON. Exit code 0: passed, 65: blocked or waiting.
    """

    PROGNAME = "fordjent-gate"
    DESCRIPTION_MORE = (
        f"Gates, in order: {', '.join(NAMES)}. Example:  fordjent-gate verify acme/widget/issues/42"
    )

    title = cli.SwitchAttr(
        ["--title"], str, argname="TEXT", default="", help="of the pull request; else the issue's"
    )

    def main(self, *words: str) -> int:
        import asyncio

        from fordjent.session_key import SessionKey

        if len(words) not in (1, 2):
            raise Usage(
                "a session's key, and perhaps a gate before it",
                hint="fordjent-gate verify acme/widget/issues/42",
            )
        names = words[:1] if len(words) == 2 else NAMES
        if names[0] not in NAMES:
            raise Usage(f"there is no gate {names[0]!r}", hint=f"there are {', '.join(NAMES)}")
        key, config = SessionKey.parse(words[-1]), self.load_config()
        self.begin_log(config)
        return asyncio.run(_ask(config, key, names, self.title))


async def _ask(config: Config, key: SessionKey, names: tuple[str, ...], title: str) -> int:
    from fordjent.context import Context
    from fordjent.gates import lease
    from fordjent.store import sessions

    async with Context.open(config) as context:
        if await context.database.read(sessions.get, str(key)) is None:
            return await _pass(await _proposal(context, key, title, ""), names)
        async with lease.held(context, str(key)) as session:
            return await _pass(await _proposal(context, key, title, session.branch), names)


async def _pass(proposal: Proposal, names: tuple[str, ...]) -> int:
    from fordjent.gates.gate import Opened, Passed
    from fordjent.gates.pull_requests import pass_gate
    from fordjent.tools.ground import RunFolder

    try:
        for name in names:
            verdict = await pass_gate(proposal, name)
            _print(proposal, verdict)
            if not isinstance(verdict, (Passed, Opened)):
                return EX_DATAERR
    finally:
        RunFolder.of(proposal.context.config, proposal.run).remove()
    return EX_OK


async def _proposal(context: Context, key: SessionKey, title: str, branch: str) -> Proposal:
    from fordjent import threads
    from fordjent.forge import issues, pulls
    from fordjent.gates.gate import Proposal
    from fordjent.workspaces.workspaces import Workspaces

    config, base = context.config, ""
    if key.is_pull:
        pull = await pulls.get(context.forge, key.repository, key.number)
        branch, base, title = pull.head.ref, pull.base.ref, title or pull.title
    elif not title:
        title = (await issues.get(context.forge, key.repository, key.number)).title
    workspaces = await threads.run(
        Workspaces, config, config.forgejo.url, config.forgejo.token, redactor=context.redactor
    )
    place = await threads.run(workspaces.prepare, key, branch, base)
    return Proposal(
        context=context,
        forge=context.forge,
        place=place,
        run=f"gate-{os.getpid()}",
        title=title,
        body=f"For #{key.number}.",
        effect=f"{key}:by-hand:{time.time():.0f}",
    )


def _print(proposal: Proposal, verdict: Verdict) -> None:
    line = msgspec.json.encode(verdict).decode()
    sys.stdout.write(proposal.context.redactor.redact(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    Gate.start()
