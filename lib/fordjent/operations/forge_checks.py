"""What the forge says: its version and clock, the token, each repository, and whether its webhooks arrive."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from email.utils import parsedate_to_datetime

from fordjent.config import Config
from fordjent.context import Context
from fordjent.forge import hooks, labels, paths, repositories, users
from fordjent.forge.errors import Archived, ForgeError, NotAllowed, NotFound, Refused, Unreachable
from fordjent.forge.forge import Forge
from fordjent.forge.server_types import Version
from fordjent.forge.types import Hook
from fordjent.operations import hook
from fordjent.operations.local_checks import is_running
from fordjent.operations.setting_up import ADMIN_TOKEN, LABELS
from fordjent.store import deliveries, handled
from harness.clock import timestamp
from harness.doctor.findings import Finding, ok, problem, warning

APART_SECONDS = 60.0
"""Clocks that differ more are told."""
DELIVERY_SECONDS = 10.0
OLDEST_FORGEJO = 7
SCOPES = "write:repository, write:issue, read:user"


async def answers(context: Context) -> AsyncIterator[Finding]:
    """Its version, its clock, whose token it is and what that may do.

    Raises:
        Unreachable: it does not answer.
    """
    config = context.config
    asked = time.time()
    try:
        answer = await context.forge.request("GET", "/version")
        yield _version(answer.body)
        if date := answer.headers.get("date"):
            yield _clock(date, asked, time.time())
        login = (await users.me(context.forge)).login
    except NotAllowed as refused:
        if refused.status == 401:
            yield problem("token", f"{config.forgejo.url} refuses forgejo.token", _new_token(config))
            return
        yield warning(
            "token", "it lacks read:user: name the bot's login in forgejo.bot_logins", _new_token(config)
        )
        return
    yield ok("bot", f"the token is {login}'s")
    for name, role in config.roles.items():
        if role.token:
            yield await _role_token(context.forge.as_role(role.token), config, name)


async def _role_token(forge: Forge, config: Config, name: str) -> Finding:
    """
    Raises:
        Unreachable: the forge does not answer.
    """
    key = f"roles.{name}.token"
    try:
        return ok(key, f"it is {(await users.me(forge)).login}'s")
    except NotAllowed as refused:
        said = f"{config.forgejo.url} refuses it" if refused.status == 401 else "it lacks read:user"
        finding = problem if refused.status == 401 else warning
        return finding(key, said, f"make a new one for that account, and put it into {key} of config.toml")


async def repository(context: Context, name: str) -> AsyncIterator[Finding]:
    """Right to write, scopes, labels, hook, and whether a delivery arrives."""
    forge = context.forge
    try:
        seen = await repositories.get(forge, name)
    except NotFound:
        yield problem(name, "it is not there, or the bot is not let in", _set_up(name))
        return
    if seen.archived:
        yield warning(name, "it is archived: nothing is done there")
        return
    if not seen.permissions.push:
        yield problem(name, "the bot may not write", _set_up(name))
        return
    lacking = [scope for scope, ask in _scopes(forge, name) if await _is_refused(ask)]
    if lacking:
        yield problem(name, f"the token lacks {', '.join(lacking)}", _new_token(context.config))
        return
    there = await labels.ids(forge, name)
    if missing := sorted(set(LABELS) - there.keys()):
        yield warning(name, f"labels are missing: {', '.join(missing[:5])}", _set_up(name))
    else:
        yield ok(name, "the bot may write, and its labels are there")
    yield await _hook(context, name, is_empty=seen.empty)


async def _hook(context: Context, name: str, *, is_empty: bool) -> Finding:
    config = context.config
    admin = context.forge.as_role(os.environ.get(ADMIN_TOKEN, ""))
    try:
        listed = await hooks.list_all(admin, name)
    except NotAllowed:
        return await _last_delivery(context, name)
    url = config.server.public_url
    ours = [one for one in listed if one.url.rstrip("/") == hook.address(url)] if url else []
    ours = ours or [one for one in listed if one.url.rstrip("/").endswith(hook.address(""))]
    if not ours:
        return problem("hook", f"{name} has none that leads to {hook.address(url)}", _set_up(name))
    if wrong := hook.faults(ours[0]):
        return problem("hook", f"{name}: it {'; it '.join(wrong)}", _set_up(name))
    if len(ours) > 1:
        return warning("hook", f"{name}: it is there {len(ours)} times", _set_up(name))
    if not is_running(config):
        return warning(
            "hook", f"{name}: {ours[0].url}; not tried, since no server runs", "start fordjent-serve"
        )
    if is_empty:
        return ok("hook", f"{name}: {ours[0].url}; not tried, since the repository is empty")
    return await _tried(context, admin, name, ours[0])


async def _tried(context: Context, admin: Forge, name: str, ours: Hook) -> Finding:
    """A test delivery: the forge sends it to the hook's address, and the server stores it."""
    database = context.database
    before = await database.read(deliveries.newest)
    began = time.monotonic()
    await hooks.test(admin, name, ours.id)
    while time.monotonic() - began < DELIVERY_SECONDS:
        came = await database.read(deliveries.after, before, 100)
        if any(one.repository == name and one.event_type == "push" for one in came):
            return ok("hook", f"{name}: a test delivery arrived in {time.monotonic() - began:.1f} s")
        await asyncio.sleep(0.1)
    refused = hook.refusal(ours.url)
    fix = refused or f"see its last deliveries: {context.config.forgejo.url}/{name}/settings/hooks/{ours.id}"
    why = "no test delivery arrived; the forge refuses such addresses, or the secret is another, or a proxy is in between"
    return problem("hook", f"{name}: {ours.url}: {why}", fix)


async def _last_delivery(context: Context, name: str) -> Finding:
    """All that can be said without an administrator's token."""
    last = await context.database.read(handled.last_delivery, name)
    fix = f"{ADMIN_TOKEN}=<an administrator's token> fordjent-doctor"
    if not last:
        return problem(
            "hook", f"{name}: nothing was ever delivered, and the bot may not look at hooks", _set_up(name)
        )
    return ok("hook", f"{name}: the last delivery came at {timestamp(last)} (`{fix}` tries it)")


def _version(body: bytes) -> Finding:
    import msgspec

    told = msgspec.json.decode(body, type=Version).version
    first = told.partition(".")[0]
    is_gitea = "gitea" not in told and first.isdecimal() and int(first) < OLDEST_FORGEJO
    if is_gitea:
        return warning("forge", f"{told}: a Gitea, or a Forgejo before {OLDEST_FORGEJO}: not tried with it")
    return ok("forge", f"version {told}")


def _clock(date: str, asked: float, answered: float) -> Finding:
    """The header has whole seconds, and was written between question and answer."""
    try:
        theirs = parsedate_to_datetime(date).timestamp()
    except ValueError:
        return warning("forge_clock", f"its Date is none: {date}")
    apart = max(theirs - answered, asked - theirs - 1.0, 0.0)
    if apart > APART_SECONDS:
        return problem(
            "forge_clock",
            f"the forge's clock and ours are {apart:.0f} s apart: what was missed is found by time",
            "sudo timedatectl set-ntp true  # on both machines",
        )
    return ok("forge_clock", f"within {max(apart, 1.0):.0f} s of ours")


def _scopes(forge: Forge, name: str) -> list[tuple[str, Callable[[], Awaitable[object]]]]:
    """Requests that are refused for the scope, or else for saying nothing."""
    return [
        ("write:issue", lambda: forge.request("POST", paths.of(name, "labels"), body={})),
        ("write:repository", lambda: forge.request("POST", paths.of(name, "branches"), body={})),
    ]


async def _is_refused(ask: Callable[[], Awaitable[object]]) -> bool:
    try:
        await ask()
    except NotAllowed as failure:
        return "scope" in failure.said
    except (Refused, Archived, NotFound):
        return False
    except Unreachable:
        raise
    except ForgeError:
        return False
    return False


def _new_token(config: Config) -> str:
    return f"make one with {SCOPES}: {config.forgejo.url}/user/settings/applications, into forgejo.token"


def _set_up(name: str) -> str:
    return f"fordjent-setup {name}"
