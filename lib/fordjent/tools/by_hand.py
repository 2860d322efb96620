"""A person's use of a tool: with their own configuration, in the folder where they stand."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from fordjent import threads
from fordjent.context import Context, redactor_of
from fordjent.models.messages import ToolCall
from fordjent.session_key import SessionKey, is_repository
from fordjent.tools.ground import Ground
from fordjent.tools.local import LOCAL
from fordjent.tools.permission import names
from fordjent.tools.registry import TOOLS
from fordjent.tools.scope import Scope, Session
from fordjent.tools.toolbox import Toolbox
from fordjent.tools.wire import Answer
from harness.errors import Usage

if TYPE_CHECKING:
    from fordjent.config import Config
    from fordjent.roles.roles import Role


def check(name: str) -> None:
    """
    Raises:
        Usage: there is no such tool.
    """
    if name not in TOOLS:
        raise Usage(f"there is no tool {name!r}", hint="`fordjent-tool --list` shows all")


async def use(
    config: Config, name: str, arguments: str, *, role: Role | None, repository: str, session: str
) -> Answer:
    """Do one call. `role`: only what that one may use; None: every tool.

    Raises:
        Usage: a tool of the forge, and neither repository nor session; or one that is none.
        BadConfig: the sandbox, the database or the forge of config.toml cannot be used.
    """
    async with _scope(config, name, role, repository, session) as scope:
        result = await Toolbox(scope).call(ToolCall(f"by-hand-{uuid.uuid4().hex}", name, arguments))
    return Answer(result.text, result.failed, result.ends)


@contextlib.asynccontextmanager
async def _scope(
    config: Config, name: str, role: Role | None, repository: str, session: str
) -> AsyncIterator[Scope]:
    run = f"by-hand-{uuid.uuid4().hex[:12]}"
    tools = names(role, config) if role else tuple(TOOLS)
    ground = await threads.run(Ground.make, config, Path.cwd(), run, person=config.person)
    log = structlog.get_logger()
    try:
        if name in LOCAL:
            yield Scope.of_folder(ground, redactor_of(config), log, run=run, tools=tools)
            return
        key = _key(repository, session)
        async with Context.open(config) as context:
            token = config.roles[role.name].token if role and role.name in config.roles else ""
            forge = context.forge.as_role(token) if token else context.forge
            yield Scope(
                role=role.name if role else "",
                run=run,
                tools=tools,
                redactor=context.redactor,
                log=context.log,
                on_ground=ground,
                in_session=Session(context, forge, key),
            )
    finally:
        await threads.run(ground.run_folder.remove)


def _key(repository: str, session: str) -> SessionKey:
    """The session's key; with a repository alone, one of no issue.

    Raises:
        Usage: neither is given, or what is given is none.
        BadData: `session` is no session's key.
    """
    if session:
        return SessionKey.parse(session)
    if repository and not is_repository(repository):
        raise Usage(f"--repository {repository!r} is no owner/name", hint="like --repository acme/widget")
    if not repository:
        raise Usage(
            "this tool needs a repository on the forge",
            hint="--repository acme/widget, or --session acme/widget/issues/42",
        )
    return SessionKey(repository, "issues", 0)
