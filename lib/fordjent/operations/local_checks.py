"""What can be seen on this machine: configuration, folder, database, server, sandbox, models."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import msgspec
from sqlalchemy.exc import DBAPIError

from fordjent.config import Config
from harness import lock, sandbox
from harness.doctor import machine
from harness.doctor.findings import Finding, of_failure, ok, problem, warning

PROGRAMS = {"git": "git"}
"""Program to Debian package."""


def values(config: Config) -> Iterator[Finding]:
    """It loads, that is how we got here; its tools exist; its secrets are for this user alone."""
    from fordjent.tools import permission

    permission.check(config)
    quoted = shlex.quote(str(config.path))
    mode = config.path.stat().st_mode & 0o777
    text = config.path.read_text("utf-8", "replace")
    written = [secret for secret in config.secrets() if secret in text]
    if written and mode & 0o077:
        yield warning(
            "config",
            f"{config.path} holds secrets and can be read by others ({mode:o})",
            f"chmod 600 {quoted}",
        )
    else:
        yield ok("config", str(config.path))


def folder(config: Config) -> Iterator[Finding]:
    yield from machine.folder(config.state_dir, f"du -sh {shlex.quote(str(config.state_dir))}/*")


def database(config: Config) -> Iterator[Finding]:
    """It can be written, and this version can read it."""
    from fordjent.store import connecting, migrating

    path = connecting.file_of(config.database_url)
    if not path.is_file():
        yield ok("database", f"{path} is made at the first start")
        return
    engine = connecting.writing(config.database_url)
    try:
        with closing(engine.connect()) as connection:
            connection.begin().rollback()  # takes the right to write, and gives it back
            found, newest = migrating.version(connection), migrating.newest()
            sound = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
    except DBAPIError as error:
        failure = connecting.failure_of(error)
        yield of_failure("database", failure) if failure else problem("database", f"{path}: {error.orig}")
        return
    finally:
        engine.dispose()
    if sound != "ok":
        yield problem(
            "database", f"{path} is damaged: {sound}", "put a backup in its place (docs/operations.md)"
        )
    elif found > newest:
        yield problem(
            "database",
            f"{path} has schema {found}; this version knows up to {newest}",
            "start the newer version",
        )
    else:
        later = "" if found == newest else f", brought to {newest} at the next start"
        yield ok("database", f"{path}, schema {found}{later}")


def server(config: Config) -> Iterator[Finding]:
    if is_running(config):
        yield ok("server", f"works in {config.state_dir}")
    else:
        yield warning("server", "does not run", f"fordjent-serve --config {shlex.quote(str(config.path))}")


def is_running(config: Config) -> bool:
    path = config.state_dir / "serve.lock"
    return path.exists() and not lock.is_free(path)


def confinement(config: Config) -> Iterator[Finding]:
    """Which sandbox the agents' programs get, tried here and now.

    Raises:
        BadConfig: the one that is asked for cannot be had.
    """
    chosen = sandbox.choose(config.sandbox.backend, network=config.sandbox.network)
    if chosen.name == "none":
        yield warning(
            "sandbox",
            f"none ({chosen.why}): an agent's programs can read all that this user can, config.toml too",
            "sudo apt-get install bubblewrap" if "not installed" in chosen.why else "",
        )
    else:
        network = "" if config.sandbox.network else ", without network"
        yield ok("sandbox", f"{chosen.name} ({_version_of(chosen.name)}){network}")


def public_url(config: Config) -> Iterator[Finding]:
    """Where people and the forge find the server."""
    url, key = config.server.public_url, "server.public_url"
    fix = f'set public_url = "https://…" under [server] in {shlex.quote(str(config.path))}'
    if not url:
        yield warning("public_url", f"{key} is empty: comments have no links to sessions", fix)
        return
    if is_local(url) and not is_local(config.forgejo.url):
        yield warning("public_url", f"{key} = {url}: nobody else reaches it", fix)
        return
    if not is_running(config):
        yield ok("public_url", url)
        return
    why = asyncio.run(_why_not_there(url))
    if why:
        yield warning(
            "public_url", f"{url}/healthz {why}", "see the reverse proxy that stands before the server"
        )
    else:
        yield ok("public_url", f"{url} leads to a server")


def is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def models(config: Config) -> Iterator[Finding]:
    """Each endpoint answers, and the prices of what it answers are known."""
    from fordjent.models import prices
    from fordjent.serving import readiness

    unpriced, held = prices.unknown(config.providers), any(msgspec.structs.astuple(config.budget))
    for name, provider in config.providers.items():
        why = asyncio.run(readiness.why_not_model(config, provider))
        where = f"providers.{name}: {provider.base_url}"
        if why:
            refused = "key" in why
            key = f"providers.{name}.{'api_key' if refused else 'base_url'}"
            yield problem("model", f"{where} {why}", f"see {key} in {shlex.quote(str(config.path))}")
        else:
            yield ok("model", f"{where} answers; {provider.model}")
        if name in unpriced:
            then = "with a budget set, it is not asked" if held else "its calls count as 0"
            yield (problem if held else warning)(
                "prices",
                f"providers.{name}: no price of {provider.model} is known: {then}",
                f"set {prices.keys(name)}; 0 declares a free model",
            )


async def _why_not_there(url: str) -> str:
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=5.0) as client:
            answer = await client.get(f"{url.rstrip('/')}/healthz")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return f"cannot be reached from here: {type(error).__name__}"
    return "" if answer.status_code == 200 and answer.text == "ok" else f"answers {answer.status_code}"


def _version_of(program: str) -> str:
    from harness import process

    return process.run([program, "--version"], timeout_seconds=5.0).text.strip()
