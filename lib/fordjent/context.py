"""What the parts of one process share, and how they wake each other."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from fordjent.config import Config
from harness import config as toml
from harness.errors import BadConfig, of_disk
from harness.redaction import Redactor

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from fordjent.forge.forge import Forge
    from fordjent.store.database import Database

Name = Literal["events", "sessions", "changes"]
"""Events that came in, sessions that are ready, and anything that a person who watches sees."""


class Bus:
    """Wake-ups inside the process: hints that save a wait, never the only word of anything.

    `woke` belongs to the event loop; other threads go through `loop.call_soon_threadsafe`.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._taken: dict[str, int] = defaultdict(int)
        self._woken: dict[str, asyncio.Event] = {}

    def woke(self, name: Name) -> None:
        """Something is there for those who wait for `name`."""
        self._counts[name] += 1
        woken = self._woken.pop(name, None)
        if woken:
            woken.set()

    def count(self, name: Name) -> int:
        """How often `name` was woken: to be read before looking, and given to `wait` after it."""
        return self._counts[name]

    async def wait(self, name: Name, timeout_seconds: float, seen: int | None = None) -> bool:
        """Until `name` is woken; False after the timeout.

        A wake-up while nobody waited is not lost: with `seen` it counts for each waiter by itself, without
        for all of them together, once (right for a single waiter).
        """
        before = self._taken[name] if seen is None else seen
        if self._counts[name] == before:
            woken = self._woken.setdefault(name, asyncio.Event())
            try:
                async with asyncio.timeout(timeout_seconds):
                    await woken.wait()
            except TimeoutError:
                return False
        if seen is None:
            self._taken[name] = self._counts[name]
        return True


@dataclass
class Context:
    """Made once per process by `Context.open`; tests put their own parts in."""

    config: Config
    database: Database
    forge: Forge
    redactor: Redactor
    log: FilteringBoundLogger
    bus: Bus = field(default_factory=Bus)

    @classmethod
    @asynccontextmanager
    async def open(cls, config: Config, redactor: Redactor | None = None) -> AsyncIterator[Context]:
        """Database and forge client, closed at the end. Nothing is asked of the forge.

        Raises:
            BadConfig: state.database or state.dir cannot be used.
        """
        import structlog

        from fordjent.forge.forge import Forge

        redactor = redactor or redactor_of(config)
        forge = Forge(
            config.forgejo.url,
            config.forgejo.token,
            requests_per_minute=config.forgejo.requests_per_minute,
            redact=redactor.redact,
        )
        try:
            async with await asyncio.to_thread(open_database, config) as database:
                yield cls(config, database, forge, redactor, structlog.get_logger())
        finally:
            await forge.aclose()


def open_database(config: Config) -> Database:
    """
    Raises:
        BadConfig: state.database or state.dir cannot be used; names file and key.
        TryLater: the disk is full, or the database is held.
    """
    from fordjent.store.database import Database

    with toml.naming(config.path, "state"):
        try:
            return Database.open(config.database_url)
        except OSError as error:
            raise of_disk(error) or BadConfig(f"{error.filename}: {error.strerror}") from error


def redactor_of(config: Config) -> Redactor:
    """A redactor that knows every secret of config.toml, and those of the environment."""
    import os

    from harness.redaction import known_secrets

    environment = config.agent_environment
    known = [*config.secrets(), *known_secrets(os.environ, environment.pass_, environment.set)]
    return Redactor(known, config.secret_scan.allow)
