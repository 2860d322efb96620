"""Accounts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from fordjent.forge import answers, paths
from fordjent.forge.errors import NotAllowed
from fordjent.forge.forge import Forge
from fordjent.forge.types import Token, User


async def me(forge: Forge) -> User:
    """Whose token it is.

    Raises:
        NotAllowed: 403: the token lacks the scope `read:user`, and may be good for all the rest.
    """
    return await forge.get("/user", User)


async def get(forge: Forge, login: str) -> User:
    return await forge.get(f"/users/{paths.segment(login)}", User)


async def create_token(
    forge: Forge, login: str, name: str, scopes: Sequence[str], *, password: str = ""
) -> Token:
    """A new token of an account; its `sha1` is told this once.

    Raises:
        NotAllowed: without the account's password: the server makes no token for a token.
    """
    path = f"/users/{paths.segment(login)}/tokens"
    basic = b64encode(f"{login}:{password}".encode()).decode("ascii")
    try:
        answer = await forge.request(
            "POST",
            path,
            body={"name": name, "scopes": list(scopes)},
            headers={"Authorization": f"Basic {basic}"} if password else None,
        )
    except NotAllowed as error:
        hint = "a token cannot make tokens: make it by hand under Settings, Applications"
        raise NotAllowed(error.method, error.path, error.status, error.said, hint=hint) from error
    return answers.decode(answer, Token)
