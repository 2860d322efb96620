"""One session run now, in the foreground, with what happens in it shown: for looking at how it works."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing

from fordjent.config import Config
from fordjent.context import Context
from fordjent.deciding.actions import Input
from fordjent.forge import issues
from fordjent.models.messages import Message
from fordjent.roles import roles
from fordjent.session_key import SessionKey
from fordjent.sessions.session import Runs
from fordjent.sessions.worker import Worker
from fordjent.store import inputs, messages, runs, sessions
from fordjent.store.sessions import Session
from harness.errors import BadData

SHOW_SECONDS = 0.2
LONGEST_LINE = 160

Say = Callable[[str], None]


async def run(config: Config, key: SessionKey, role: str, say: Say) -> Session:
    """The session as the run left it. `role` "": the one that it has, else what the issue names.

    Raises:
        Busy: a server, or somebody else, is at it.
        NotFound: the forge has no such issue or pull request.
        BadData: no such role.
    """
    if role and role not in roles.ROLES:
        raise BadData(f"there is no role {role!r}", hint=f"there are {', '.join(roles.ROLES)}")
    async with Context.open(config) as context, aclosing(Runs(context)) as shared:
        await _make_ready(context, key, role)
        seen = await context.database.read(messages.all_of, str(key))
        shown = asyncio.create_task(_show(context, str(key), seen[-1].seq if seen else -1, say))
        try:
            await Worker(context, shared.run).run_one(str(key))
        finally:
            await asyncio.sleep(SHOW_SECONDS * 1.5)
            shown.cancel()
        session = await context.database.read(sessions.get, str(key))
        assert session
        return session


async def _make_ready(context: Context, key: SessionKey, role: str) -> None:
    """A session for the key, with something to do."""
    known = await context.database.read(sessions.get, str(key))
    waiting = await context.database.read(inputs.waiting, str(key))
    interrupted = await context.database.read(runs.unfinished, str(key))
    if known and (waiting or interrupted is not None) and role in ("", known.role):
        return
    issue = await issues.get(context.forge, key.repository, key.number)
    named = roles.detect(issue.title, issue.label_names)
    chosen = role or (known.role if known else named.name if named else roles.DEFAULT)
    if known is None and key.is_pull and not role:
        chosen = "reviewer"
    told = Input(kind="resumed" if known else "opened", source=f"by hand:{time.time():.3f}")
    await context.database.write(inputs.feed, str(key), chosen, told, None, time.time(), 0.0)


async def _show(context: Context, key: str, after: int, say: Say) -> None:
    while True:
        for stored in await context.database.read(messages.all_of, key, after):
            after = stored.seq
            for line in lines(stored.message):
                say(line)
        await asyncio.sleep(SHOW_SECONDS)


def lines(message: Message) -> Iterator[str]:
    """A message in short, for a terminal."""
    if message.role in ("system", "user"):
        yield f"> told: {_short(message.content.strip().splitlines()[-1:])} ({len(message.content)} characters)"
    elif message.role == "tool":
        yield f"    {message.name}: {_short(message.content.splitlines()[-1:])}"
    else:
        if message.content.strip():
            yield f"< {_short(message.content.splitlines())}"
        for call in message.tool_calls:
            yield f"  {call.name} {_short([call.arguments])}"


def _short(parts: list[str]) -> str:
    text = " ".join(" ".join(parts).split())
    printable = "".join(c if c.isprintable() else "?" for c in text)
    return printable if len(printable) <= LONGEST_LINE else printable[:LONGEST_LINE] + "…"
