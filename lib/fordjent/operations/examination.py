"""The doctor's checks in their order, each bounded in time."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator

from fordjent import config as configuration
from fordjent.config import Config
from fordjent.context import Context, redactor_of
from fordjent.operations import forge_checks, local_checks
from fordjent.store import handled
from harness.doctor import machine, programs
from harness.doctor.checks import bounded, without_secrets
from harness.doctor.findings import Finding, of_failure, warning
from harness.errors import BadConfig

Asked = Callable[[Context], AsyncIterator[Finding]]


def examine(config_path: str | None) -> Iterator[Finding]:
    """Everything, as it is found. Secrets are taken out."""
    yield from bounded("python", programs.python)
    yield from bounded("programs", functools.partial(programs.needed, local_checks.PROGRAMS))
    yield from bounded("clock", machine.clock)
    try:
        config = configuration.load(config_path)
    except BadConfig as failure:
        yield of_failure("config", failure)
        return
    yield from without_secrets(_with_config(config), redactor_of(config))


def _with_config(config: Config) -> Iterator[Finding]:
    local: dict[str, Callable[[Config], Iterator[Finding]]] = {
        "config": local_checks.values,
        "state_dir": local_checks.folder,
        "database": local_checks.database,
        "server": local_checks.server,
        "public_url": local_checks.public_url,
        "sandbox": local_checks.confinement,
        "model": local_checks.models,
    }
    sound = True
    for name, check in local.items():
        for finding in bounded(name, functools.partial(check, config)):
            sound = sound and not (finding.status == "problem" and name in ("state_dir", "database"))
            yield finding
    if not sound:
        yield warning("forge", "not looked at: the database is needed for it")
        return
    told = list(bounded("forge", lambda: _asked(config, forge_checks.answers)))
    yield from told
    if any(finding.status == "problem" and finding.check in ("forge", "token") for finding in told):
        return
    names = list(_names(config))
    for name in names:
        of_repository = functools.partial(forge_checks.repository, name=name)
        yield from bounded(name, functools.partial(_asked, config, of_repository))
    if not names:
        yield warning("repositories", "none was set up", "fordjent-setup owner/name")


def _asked(config: Config, ask: Asked) -> Iterator[Finding]:
    """What an asynchronous check finds, in an event loop of its own."""

    async def all_of() -> list[Finding]:
        async with Context.open(config) as context:
            return [finding async for finding in ask(context)]

    yield from asyncio.run(all_of())


def _names(config: Config) -> Iterator[str]:
    from fordjent.context import open_database

    database = open_database(config)
    try:
        yield from database.look(handled.repositories_due)
    finally:
        database.close()
