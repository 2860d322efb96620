"""Who we are on the forge: the account of the token, and every other login that is ours."""

from __future__ import annotations

import msgspec

from fordjent.context import Context
from fordjent.forge import users
from fordjent.forge.errors import NotAllowed
from harness.git import Person


class Identity(msgspec.Struct, frozen=True):
    """`logins`: all that are the bot's. `person`: who commits."""

    login: str
    logins: frozenset[str]
    person: Person

    @classmethod
    async def ask(cls, context: Context) -> Identity:
        """By the token; where it may not tell (scope read:user), by what config.toml has.

        Raises:
            Unreachable: the forge does not answer.
        """
        config = context.config
        named = frozenset(config.forgejo.bot_logins)
        try:
            me = await users.me(context.forge)
        except NotAllowed:
            return cls(next(iter(config.forgejo.bot_logins), "fordjent"), named, config.person)
        person = Person(me.full_name or me.login, me.email or config.person.email)
        return cls(me.login, named | {me.login}, person)
