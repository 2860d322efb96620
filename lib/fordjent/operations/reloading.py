"""Configuration that changed is read again: on SIGHUP, and when the file's content is another.

What can be is applied to what begins from then on; a file that cannot work leaves all as it was, and is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import signal
from typing import Any

import msgspec
from msgspec.structs import replace

from fordjent import config as configuration
from fordjent import threads
from fordjent.config import Config
from fordjent.context import Context
from fordjent.models import prices
from fordjent.models.models import Models
from fordjent.tools import permission
from harness.errors import BadConfig

LOOK_SECONDS = 2.0


class Reloading:
    """One per process. From here on SIGHUP does not end it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._asked = asyncio.Event()
        self._seen = self._fingerprint()
        with contextlib.suppress(RuntimeError, ValueError):  # no loop, or not the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._asked.set)

    async def run(self, stop: asyncio.Event) -> None:
        await threads.run(self._tell_prices)
        stopping = asyncio.create_task(stop.wait())
        while not stop.is_set():
            asked = asyncio.create_task(self._asked.wait())
            await asyncio.wait({asked, stopping}, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if not stop.is_set():
                await self.look()

    async def look(self) -> None:
        """Read it again where it changed, or where somebody asked."""
        found = await threads.run(self._fingerprint)
        if not self._asked.is_set() and found in ("", self._seen):  # "": an editor is about to replace it
            return
        self._asked.clear()
        self._seen = found
        log = self._context.log
        try:
            new = await threads.run(configuration.load, str(self._context.config.path))
            permission.check(new)
            await Models(new, self._context.redactor.redact).aclose()
        except BadConfig as failure:
            why = self._context.redactor.redact(failure.message)
            log.error("config.kept", why=why, hint=failure.hint)
            return
        merged = applied(self._context.config, new)
        changed, later = difference(self._context.config, merged), difference(merged, new)
        self._context.redactor.know(new.secrets())
        self._context.redactor.allow(new.secret_scan.allow)
        self._context.config = merged
        if changed or later:
            log.info("config.reloaded", changed=changed, needs_restart=later)
            await threads.run(self._tell_prices)

    def _tell_prices(self) -> None:
        """Models that cannot be counted, or that are said to be free and are not."""
        config, log = self._context.config, self._context.log
        held = any(msgspec.structs.astuple(config.budget))
        for name in prices.unknown(config.providers):
            then = "with a budget set, it is not asked" if held else "its calls count as 0"
            hint = f"set {prices.keys(name)}; 0 declares a free model"
            log.warning(
                "price.unknown", provider=name, model=config.providers[name].model, then=then, hint=hint
            )
        for name in prices.given_away(config.providers):
            hint = f"leave {prices.keys(name)} out to have the listed price taken"
            log.warning("price.free", provider=name, model=config.providers[name].model, hint=hint)

    def _fingerprint(self) -> str:
        """ "": it is not there."""
        try:
            return hashlib.sha256(self._context.config.path.read_bytes()).hexdigest()
        except OSError:
            return ""


def applied(old: Config, new: Config) -> Config:
    """`new`, but for what is only read at a start: addresses, folders, identities, intervals."""
    forgejo = replace(old.forgejo, allowed_senders=new.forgejo.allowed_senders)
    times = {
        name: getattr(old.sessions, name)
        for name in ("agent_type", "idle_timeout", "reconcile_interval", "shutdown_grace")
    }
    roles = {
        name: replace(role, token=old.roles[name].token if name in old.roles else "")
        for name, role in new.roles.items()
    }
    fixed = {name: getattr(old, name) for name in ("server", "webhook", "state", "log", "agent_environment")}
    merged = replace(new, forgejo=forgejo, sessions=replace(new.sessions, **times), roles=roles, **fixed)
    merged.__dict__["path"] = old.path
    return merged


def difference(old: Config, new: Config) -> list[str]:
    """Keys with other values; no values, which may be secrets."""
    before, after = _flat(msgspec.to_builtins(old)), _flat(msgspec.to_builtins(new))
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        return {prefix: value}
    found: dict[str, Any] = {}
    for name, one in value.items():
        found |= _flat(one, f"{prefix}.{name}" if prefix else str(name))
    return found
