"""A program that writes one comment, once: to be killed on the way.

python -m tests.support.posts URL TOKEN DATABASE EFFECT TEXT
"""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import cast

from fordjent import posting
from fordjent.context import Context
from fordjent.forge.forge import Forge
from fordjent.session_key import SessionKey
from fordjent.store.database import Database
from harness.redaction import Redactor

KEY = SessionKey("acme/widget", "issues", 1)


def context(database: Database, *secrets: str) -> Context:
    """As much of one as posting needs."""
    return cast(Context, SimpleNamespace(database=database, redactor=Redactor(secrets)))


async def post(url: str, token: str, database_url: str, effect: str, text: str) -> int:
    """The id of the comment."""
    async with Database.open(database_url) as database, Forge(url, token) as forge:
        return (await posting.comment(context(database), forge, KEY, effect, text)).id


if __name__ == "__main__":
    print(asyncio.run(post(*sys.argv[1:])))
