"""What works beside the receiver in tests of the process: parts that end late, never, or by a fault."""

from __future__ import annotations

import asyncio

from fordjent.context import Context


class Late:
    """Ends half a second after it is told to, and says so."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self, stop: asyncio.Event) -> None:
        self._context.log.info("works")
        await stop.wait()
        await asyncio.sleep(0.5)
        self._context.log.info("has ended by itself")


class Endless:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self, stop: asyncio.Event) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            self._context.log.info("was cancelled")


class Failing:
    def __init__(self, context: Context) -> None:
        pass

    async def run(self, stop: asyncio.Event) -> None:
        raise RuntimeError("a fault of ours, with a-token-of-the-bot in it")


LATE, ENDLESS, FAILING = [Late], [Endless], [Failing]
