"""What only the forge knows, asked as seldom as can be.

Who the bot is: once. What somebody may do in a repository: every few minutes, and once for all that
ask at the same time. Whether a number is a pull request: once, since the answer is stored with the issue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from weakref import WeakValueDictionary

from fordjent.context import Context
from fordjent.deciding.event import Event, Verdict
from fordjent.deciding.facts import WRITERS, Identity, Inline, KnownReview
from fordjent.forge import issues, repositories, reviews, users
from fordjent.forge.errors import NotAllowed, NotFound, Unreachable
from fordjent.forge.forge import Forge
from fordjent.forge.types import Review
from fordjent.scheduling import observing
from fordjent.store import permissions
from fordjent.store import repositories as known_repositories

PERMISSION_SECONDS = 300.0
"""How long an answer is good for: so long may somebody go on who was just put out."""

REFUSAL_SECONDS = 30.0
"""The same for somebody who may not write: they may have been let in since, and wait."""

REFUSED_SECONDS = 60.0
"""After so long a role's token that the forge refused, or did not answer for, is asked about again."""

OWN_REFUSED_SECONDS = 5.0
"""The same for forgejo.token, without which nothing is decided."""

MOST_KNOWN = 4096

OWN = ""
"""Stands for forgejo.token among the names of roles."""

NEW_TOKEN = "make a new token for that account, and put it there in config.toml"

_STATES: dict[Verdict, str] = {"approved": "APPROVED", "rejected": "REQUEST_CHANGES", "comment": "COMMENT"}


class Questions:
    """Every method raises TryLater where the forge has to be asked and does not answer."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._identity: Identity | None = None
        self._good_until = float("inf")
        self._refused: tuple[NotAllowed, float] | None = None
        self._logins: dict[str, str] = {}
        self._permissions: dict[tuple[str, str], tuple[str, float]] = {}
        self._asking: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()

    async def identity(self) -> Identity:
        async with self._one("identity"):
            if self._identity is None or time.monotonic() >= self._good_until:
                self._identity = await self._ask_identity()
            return self._identity

    async def permission(self, repository: str, login: str) -> str:
        """owner, admin, write, read or none."""
        if not login:
            return "none"
        who = repository, login.casefold()
        async with self._one("permission", *who):
            known, asked_at = self._permissions.get(who, ("", 0.0))
            if not _is_fresh(known, asked_at):
                known = await self._stored_or_asked(repository, login)
            return known

    async def _stored_or_asked(self, repository: str, login: str) -> str:
        """Stored, so that a restart does not ask about everybody anew."""
        database, now = self._context.database, time.time()
        stored = await database.read(permissions.get, repository, login, now - PERMISSION_SECONDS)
        found, asked_at = stored or ("", 0.0)
        if not _is_fresh(found, asked_at):
            found, asked_at = await repositories.permission(self._context.forge, repository, login), now
            await database.write(permissions.put, repository, login, found, now)
        self._permissions[repository, login.casefold()] = found, asked_at
        if len(self._permissions) > MOST_KNOWN:
            del self._permissions[next(iter(self._permissions))]
        return found

    async def is_pull(self, repository: str, number: int) -> bool:
        try:
            return (await issues.get(self._context.forge, repository, number)).is_pull
        except NotFound:
            return False

    async def waits_for(self, repository: str, number: int, body: str) -> tuple[int, ...]:
        """What an issue depends on, by its text or natively, and is not done."""
        return await observing.undone(self._context.forge, repository, number, body)

    async def is_empty(self, repository: str) -> bool:
        """Whether it has no commit. That it has some is asked once."""
        database = self._context.database
        if await database.read(known_repositories.has_commits, repository):
            return False
        found = await repositories.get(self._context.forge, repository)
        if not found.empty:
            await database.write(
                known_repositories.note_commits, repository, found.default_branch, time.time()
            )
        return found.empty

    async def review(self, event: Event, told: Collection[int]) -> tuple[KnownReview | None, bool]:
        """The review that an event tells of, with its inline comments; and whether all that it can be were told before.

        The event has no id: it is the oldest of the sender's with that verdict and text which was not told yet.
        """
        forge, number = self._context.forge, event.number
        try:
            suiting = [
                one for one in await reviews.list_all(forge, event.repository, number) if _is(one, event)
            ]
            untold = [one for one in suiting if one.id not in told]
            if not untold:
                return None, bool(suiting)
            found = untold[0]
            inline = await self._inline(forge, event, found)
        except NotFound:
            return None, False
        return KnownReview(id=found.id, inline=inline), False

    async def _inline(self, forge: Forge, event: Event, review: Review) -> tuple[Inline, ...]:
        if not review.comments_count:
            return ()
        remarks = await reviews.comments(forge, event.repository, event.number, review.id)
        return tuple(
            Inline(
                path=remark.path,
                line=remark.position or remark.original_position,
                text=remark.body,
                hunk=remark.diff_hunk,
            )
            for remark in remarks
        )

    async def _ask_identity(self) -> Identity:
        """What a role's token does not tell now is asked later: it is no reason to let events wait."""
        config = self._context.config
        own = await self._own_login()
        good_until = float("inf")
        for name, role in config.roles.items():
            if role.token and name not in self._logins:
                try:
                    self._logins[name] = await self._login(self._context.forge.as_role(role.token))
                except NotAllowed as refused:
                    good_until = time.monotonic() + REFUSED_SECONDS
                    self._say_refused(f"roles.{name}.token", refused)
                except Unreachable as failure:
                    good_until = time.monotonic() + REFUSED_SECONDS
                    self._context.log.warning("role.login_unknown", role=name, why=failure.message)
        self._good_until = good_until
        by_role = self._logins
        logins = [*config.forgejo.bot_logins, own, *by_role.values()]
        return Identity(frozenset(login.casefold() for login in logins if login), by_role.get("reviewer", ""))

    async def _own_login(self) -> str:
        """Asked once; a refusal stands for a while, for however many events."""
        if OWN in self._logins:
            return self._logins[OWN]
        if self._refused and time.monotonic() < self._refused[1]:
            raise self._refused[0]
        try:
            self._logins[OWN] = await self._login(self._context.forge)
        except NotAllowed as refused:
            self._refused = refused, time.monotonic() + OWN_REFUSED_SECONDS
            self._say_refused("forgejo.token", refused)
            raise
        return self._logins[OWN]

    def _say_refused(self, key: str, refused: NotAllowed) -> None:
        self._context.log.error("token.refused", key=key, why=refused.message, hint=NEW_TOKEN)

    async def _login(self, forge: Forge) -> str:
        """ "": the token may not ask who it is; then `bot_logins` has to say it."""
        try:
            return (await users.me(forge)).login
        except NotAllowed as refused:
            if refused.status != 403:
                raise
            self._context.log.warning(
                "token.without_user_scope", hint="give it read:user, or name its login in forgejo.bot_logins"
            )
            return ""

    def _one(self, *what: str) -> asyncio.Lock:
        return self._asking.setdefault(what, asyncio.Lock())


def _is_fresh(permission: str, asked_at: float) -> bool:
    age = time.time() - asked_at
    return age <= (PERMISSION_SECONDS if permission in WRITERS else REFUSAL_SECONDS)


def _is(review: Review, event: Event) -> bool:
    said = event.review
    return (
        said is not None
        and review.state == _STATES[said.verdict]
        and review.user.login.casefold() == event.sender.casefold()
        and review.body.strip() == said.body.strip()
    )
