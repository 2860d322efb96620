"""A session at the stand-in forge with its toolbox, as a run has it; each call is done when it returns."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select

from fordjent.agent.protocols import ToolResult
from fordjent.context import Context
from fordjent.models.messages import ToolCall
from fordjent.roles.roles import configured
from fordjent.session_key import SessionKey
from fordjent.store.schema import sessions, tool_calls
from fordjent.tools.scope import Scope
from fordjent.tools.toolbox import Toolbox
from fordjent.workspaces.place import Place
from fordjent.workspaces.workspaces import Workspaces
from tests.support.forge.people import Person
from tests.support.forge.server import StandIn
from tests.support.grounds import write_config

REPOSITORY = "acme/widget"


@dataclass
class Desk:
    forge: StandIn
    context: Context
    toolbox: Toolbox
    runner: asyncio.Runner
    calls: int = field(default=0)

    @property
    def alice(self) -> Person:
        return self.forge.api_as("alice")

    def use(self, name: str, *, call: str = "", **arguments: Any) -> ToolResult:
        self.calls += 1
        made = ToolCall(call or f"call-{self.calls}", name, json.dumps(arguments))
        return self.runner.run(self.toolbox.call(made))

    def again(self, name: str, *, call: str, run: str = "run-1", **arguments: Any) -> ToolResult:
        """The call as it is made after a restart."""
        return self.runner.run(self.toolbox.resume(ToolCall(call, name, json.dumps(arguments)), run))

    def records(self) -> list[Any]:
        def look(connection: Connection) -> list[Any]:
            return list(connection.execute(select(tool_calls).order_by(tool_calls.c.id)))

        return self.context.database.look(look)

    def as_run(self, run: str) -> None:
        self.toolbox = Toolbox(replace(self.toolbox.scope, run=run))


@contextmanager
def at(
    place: Path,
    forge: StandIn,
    *,
    role: str = "implementer",
    key: str = f"{REPOSITORY}/issues/1",
    more: str = "",
    worktree: bool = False,
) -> Iterator[Desk]:
    """A session of a role; its repository is there, with alice as its administrator."""
    config = write_config(place, more, url=forge.url, token=forge.token("fordjent"))
    with asyncio.Runner() as runner:
        opened = Context.open(config)
        context = runner.run(opened.__aenter__())
        session = SessionKey.parse(key)
        context.database.submit(_add_session, session, role).result()
        scope = Scope.of_session(
            context,
            key=session,
            role=configured(config, role),
            run="run-1",
            place=_worktree(context, session) if worktree else None,
            branch="fordjent/issue-1",
            base="main",
        )
        try:
            yield Desk(forge, context, Toolbox(scope), runner)
        finally:
            runner.run(opened.__aexit__(None, None, None))


def _worktree(context: Context, key: SessionKey) -> Place:
    forgejo = context.config.forgejo
    return Workspaces(context.config, forgejo.url, forgejo.token).prepare(key)


def _add_session(connection: Connection, key: SessionKey, role: str) -> None:
    now = time.time()
    connection.execute(
        insert(sessions).values(
            key=str(key),
            repository=key.repository,
            kind=key.kind,
            number=key.number,
            role=role,
            created_at=now,
            changed_at=now,
        )
    )
