"""Effects outside the process, each done once, whatever ends the process in between.

comment = await once(
    context, f"{key}:{run}:done", "comment", str(key), find=find, do=write, result=Comment
)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import time
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import msgspec

from fordjent.forge.errors import Unreachable
from fordjent.store import effects
from harness.effects import reached

if TYPE_CHECKING:
    from fordjent.context import Context

T = TypeVar("T")

_running: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


async def once(
    context: Context,
    effect_id: str,
    kind: str,
    key: str,
    *,
    find: Callable[[], Awaitable[T | None]],
    do: Callable[[], Awaitable[T]],
    result: type[T],
) -> T:
    """What `do` made, now or the first time.

    Begun is noted, then it is done, then that is noted with its result. Where it was begun before and
    not noted as done, `find` looks for it in the world first; so it does after an answer that was lost.

    Raises:
        whatever `do` and `find` raise: the next call looks again.
    """
    lock = _running.setdefault((id(context.database), effect_id), asyncio.Lock())
    async with lock:
        effect = await context.database.write(effects.begin, effect_id, key, kind, time())
        reached(f"fordjent.{kind}.begun")
        if effect.is_done:
            return msgspec.json.decode(effect.result, type=result)
        made = None if effect.is_new else await find()
        if made is None:
            made = await _do(find, do)
            reached(f"fordjent.{kind}")
        await context.database.write(effects.finish, effect_id, msgspec.json.encode(made).decode())
        reached(f"fordjent.{kind}.noted")
        return made


async def _do(find: Callable[[], Awaitable[T | None]], do: Callable[[], Awaitable[T]]) -> T:
    try:
        return await do()
    except Unreachable as error:
        made = await find() if error.received else None
        if made is None:
            raise
        return made
