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
BEGINNING = 2
"""Of one repository, beside those: whose run begins."""

_Queues = WeakValueDictionary[tuple[Path, int], asyncio.Semaphore]
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
    async with _queue(repository, PER_REPOSITORY):
        return await run(function, *args, **kwargs)


async def begin_in(repository: Path, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`run_in`, for what a run begins with: in a queue of its own, so that of hundreds of runs those go on
    first that have begun."""
    async with _queue(repository, BEGINNING):
        return await run(function, *args, **kwargs)


def _queue(repository: Path, places: int) -> asyncio.Semaphore:
    queues = _queues.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    queue = queues.get((repository, places))
    if queue is None:
        queue = queues[repository, places] = asyncio.Semaphore(places)
    return queue


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="work")
