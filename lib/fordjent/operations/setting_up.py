"""A repository made ready: hook, labels, the bot's right to write, and that we know it. Repeatable."""

from __future__ import annotations

import time

from fordjent.context import Context
from fordjent.forge import labels, repositories, users
from fordjent.forge.errors import ForgeError, NotAllowed, NotFound, Unreachable
from fordjent.forge.forge import Forge
from fordjent.forge.types import Repository
from fordjent.operations import hook
from fordjent.reconciling import reconciling
from fordjent.roles.roles import ROLES
from fordjent.store import repositories as stored
from harness.doctor.findings import Finding, ok, problem, warning

ADMIN_TOKEN = "FORDJENT_SETUP_TOKEN"
"""Variable with a token of somebody who administrates the repository: used here, kept nowhere."""

FAILURES = ("max_turns", "error", "budget", "no_progress", "timeout")
LABELS = (
    *("ready", "plan-approved", "in_progress", "blocked", "review", "needs-role", "scaffold"),
    *(f"role:{name}" for name in ROLES),
    *(f"fordjent/failed:{why}" for why in FAILURES),
)


class SetUp:
    """One repository. `admin`: who may make hooks and add people; the bot itself where it administrates."""

    def __init__(self, context: Context, name: str, *, url: str, admin: Forge) -> None:
        self._context = context
        self._name = name
        self._url = url
        self._bot, self._admin = context.forge, admin

    async def run(self, *, adopt: bool = False) -> list[Finding]:
        """What was done, and what could not be.

        Raises:
            Unreachable: the forge is away: later.
        """
        try:
            seen = await repositories.get(self._admin, self._name)
        except NotFound as failure:
            return [
                self._problem("repository", failure, "see that its name is right and the account is let in")
            ]
        except NotAllowed as failure:
            return [self._problem("repository", failure, failure.hint)]
        self._name = seen.full_name  # as the forge writes it, and its deliveries
        found = [ok("repository", f"{seen.full_name}, default branch {seen.default_branch}")]
        if seen.archived:
            found.append(problem("repository", f"{seen.full_name} is archived: nothing is done there"))
        found.append(await self._collaborator(seen))
        found.append(await self._labels())
        found.append(await self._hook())
        await self._context.database.write(stored.seen, self._name, seen.default_branch, time.time())
        if adopt:
            number = await reconciling.adopt(self._context, self._name)
            found.append(ok("adopt", f"{number} open issues and pull requests are begun"))
        return found

    async def _collaborator(self, seen: Repository) -> Finding:
        login = await self._login()
        try:
            rights = (await repositories.get(self._bot, self._name)).permissions
        except NotFound:
            rights = None
        if rights and rights.push:
            more = " (write is enough)" if rights.admin else ""
            return ok("collaborator", f"{login or 'the bot'} may write{more}")
        by_hand = f"{self._context.config.forgejo.url}/{self._name}/settings/collaboration: add it with write"
        if not login:
            return problem(
                "collaborator", "the bot may not write, and its token does not tell its login", by_hand
            )
        try:
            await repositories.add_collaborator(self._admin, self._name, login, "write")
        except Unreachable:
            raise
        except ForgeError as failure:
            return self._problem("collaborator", failure, f"{self._as_admin()}  # or {by_hand}")
        return ok("collaborator", f"{login} is a collaborator with write now")

    async def _login(self) -> str:
        try:
            return (await users.me(self._bot)).login
        except NotAllowed:
            return ""

    async def _labels(self) -> Finding:
        try:
            before = await labels.ids(self._bot, self._name)
            await labels.ensure(self._bot, self._name, LABELS)
        except Unreachable:
            raise
        except ForgeError as failure:
            return self._problem(
                "labels", failure, "give the token write:issue, and its account write access"
            )
        made = len(set(LABELS) - before.keys())
        return ok("labels", f"{made} made" if made else f"all {len(LABELS)} are there")

    async def _hook(self) -> Finding:
        url = hook.address(self._url)
        try:
            done = await hook.ensure(self._admin, self._name, url, self._context.config.webhook.secret)
        except Unreachable:
            raise
        except ForgeError as failure:
            return self._problem("hook", failure, self._as_admin())
        refused = hook.refusal(url)
        return (
            warning("hook", f"{done}; a stock forge does not deliver there", refused)
            if refused
            else ok("hook", done)
        )

    def _as_admin(self) -> str:
        return f"{ADMIN_TOKEN}=<an administrator's token> fordjent-setup {self._name}"

    def _problem(self, check: str, failure: ForgeError, fix: str) -> Finding:
        return problem(check, f"{self._name}: {failure.message}", fix)
