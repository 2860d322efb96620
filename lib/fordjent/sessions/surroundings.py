"""What is the same for all runs of a process, and asked for once: who we are, and where worktrees are."""

from __future__ import annotations

import asyncio

from fordjent import threads
from fordjent.context import Context
from fordjent.sessions.identity import Identity
from fordjent.workspaces.workspaces import Workspaces


class Surroundings:
    """Asks the forge when it is first needed: a server starts without."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._identity: Identity | None = None
        self._workspaces: Workspaces | None = None
        self._asking = asyncio.Lock()

    async def identity(self) -> Identity:
        """
        Raises:
            Unreachable: the forge does not answer.
        """
        async with self._asking:
            if self._identity is None:
                self._identity = await Identity.ask(self._context)
        return self._identity

    async def workspaces(self) -> Workspaces:
        """
        Raises:
            Unreachable: the forge does not answer.
        """
        person = (await self.identity()).person
        config = self._context.config
        async with self._asking:
            if self._workspaces is None:
                self._workspaces = await threads.run(
                    Workspaces,
                    config,
                    config.forgejo.url,
                    config.forgejo.token,
                    person=person,
                    redactor=self._context.redactor,
                )
        return self._workspaces
