"""Issues that are closed by us, when what they ask for is there."""

from __future__ import annotations

from fordjent import posting
from fordjent.context import Context
from fordjent.forge import issues
from fordjent.forge.errors import ForgeError, Locked, NotFound, Unreachable
from fordjent.once import once
from fordjent.session_key import SessionKey


async def close_once(context: Context, key: SessionKey, effect: str, why: str) -> None:
    """A person who opens it again is not argued with.

    Raises:
        Unreachable: the forge does not answer.
    """

    async def find() -> bool | None:
        issue = await issues.get(context.forge, key.repository, key.number)
        return True if issue.state != "open" else None

    async def do() -> bool:
        return await close(context, key, why)

    await once(context, effect, "close", str(key), find=find, do=do, result=bool)


async def close(context: Context, key: SessionKey, why: str) -> bool:
    """False: it stays open; where it depends on something that is open (412), that is said once.

    Raises:
        Unreachable: the forge does not answer.
    """
    try:
        await issues.close(context.forge, key.repository, key.number)
        return True
    except NotFound:
        return False
    except Unreachable:
        raise
    except Locked:
        text = f"{why} I do not close this: the forge has dependencies of it that are open."
        await posting.comment(context, context.forge, key, f"{key}:not-closed", text)
    except ForgeError as error:
        context.log.warning("issue.not_closed", issue=str(key), why=error.message)
    return False
