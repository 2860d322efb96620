"""Blocking work beside the event loop: git, files, processes. Nothing of it may run in the loop itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 32
PER_REPOSITORY = 4
"""One of them has the repository's lock, and the others do what needs none."""

_Queues = WeakValueDictionary[Path, asyncio.Semaphore]
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queues] = WeakKeyDictionary()


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(…)` in a thread. Who stops waiting for it does not stop it: what blocks has its own time limit."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_executor(), partial(function, *args, **kwargs))


async def run_in(repository: Path, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`run`, for what takes the lock of the repository in this folder.

    Few at once, and the others wait for their turn without a thread: else a hundred sessions in one
    repository would leave none to all other sessions.
    """
    queues = _queues.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    queue = queues.get(repository)
    if queue is None:
        queue = queues[repository] = asyncio.Semaphore(PER_REPOSITORY)
    async with queue:
        return await run(function, *args, **kwargs)


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="work")
