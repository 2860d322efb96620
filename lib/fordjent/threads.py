"""Blocking work beside the event loop: git, files, processes. Nothing of it may run in the loop itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 32


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`function(…)` in a thread. Who stops waiting for it does not stop it: what blocks has its own time limit."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_executor(), partial(function, *args, **kwargs))


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="work")
