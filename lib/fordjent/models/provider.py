"""One provider for the whole process: its slots, its breaker, and the one place that tries again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import msgspec

from fordjent import config
from fordjent.models import prices
from fordjent.models.breaker import Breaker
from fordjent.models.endpoint import WORTH_RETRYING, AttemptFailed, Endpoint, FailedKind
from fordjent.models.messages import Answer, Message, ToolSpec, Usage
from fordjent.models.model import Kind, ModelFailure
from harness import clock
from harness import config as toml

LONGEST_WAIT_SECONDS = 300.0
"""An endpoint that asks for more is one to come back to, not to wait for in a call."""

_KINDS: dict[FailedKind, Kind] = {
    "broken": "exhausted",
    "open": "exhausted",
    "busy": "quota",
    "auth": "auth",
    "refused": "refused",
    "context": "context",
    "quota": "quota",
}
_HINTS = {
    "auth": "see to providers.{name}.api_key",
    "refused": "see to providers.{name}: model, base_url, max_tokens and capabilities",
    "context": "see to agent.context_window: it is larger than the model's",
    "quota": "see to the provider's quota, or name a fallback",
    "exhausted": "see to providers.{name}.base_url, or name a fallback",
}


class Provider:
    """`[providers.<name>]` at work. A slot is taken for each attempt, never while waiting between two."""

    def __init__(
        self, name: str, settings: config.Provider, endpoint: Endpoint, breaker: Breaker | None = None
    ) -> None:
        self.name = name
        self.settings = settings
        self._endpoint = endpoint
        self._breaker = breaker or Breaker()
        self._slots = asyncio.Semaphore(settings.max_concurrent)

    async def answer(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, patient: bool = True
    ) -> Answer:
        """The answer, after as many attempts as are allowed. Not `patient`: an open breaker ends it at once.

        Raises:
            ModelFailure: with what was spent on attempts that came to nothing.
        """
        wasted = Usage()
        for number in range(self.settings.max_retries + 1):
            try:
                answer = await self._attempt(messages, tools)
            except AttemptFailed as failed:
                wasted += failed.usage
                wait = max(failed.retry_after_seconds, self._backoff_seconds(number))
                if (
                    failed.kind not in WORTH_RETRYING
                    or number == self.settings.max_retries
                    or failed.retry_after_seconds > LONGEST_WAIT_SECONDS
                    or (failed.kind == "open" and not patient)
                ):
                    raise self._failure(failed, number + 1, wasted) from failed
                await asyncio.sleep(wait)
            else:
                cost = self.cost(answer.usage, answer.model) + self.cost(wasted)
                usage = answer.usage + wasted if wasted != Usage() else answer.usage
                return msgspec.structs.replace(answer, retries=number, cost_microdollars=cost, usage=usage)
        raise AssertionError("max_retries is at least 0")

    def cost(self, usage: Usage, model: str = "") -> int:
        """Micro-dollars of `usage` here."""
        return prices.cost_microdollars(self.settings, model or self.settings.model, usage)

    async def aclose(self) -> None:
        await self._endpoint.aclose()

    async def _attempt(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        seconds = toml.seconds(self.settings.timeout)
        async with self._slots:
            with self._breaker.attempt():
                try:
                    async with asyncio.timeout(seconds):  # of the whole: a client's own is of each read
                        return await self._endpoint.attempt(messages, tools)
                except TimeoutError as error:
                    raise AttemptFailed("broken", f"no answer within {seconds:g} s") from error

    def _backoff_seconds(self, number: int) -> float:
        longest = toml.seconds(self.settings.retry_max_delay)
        delay = min(longest, toml.seconds(self.settings.retry_base_delay) * 2.0 ** min(number, 30))
        return delay * random.uniform(0.5, 1.0)

    def _failure(self, failed: AttemptFailed, attempts: int, wasted: Usage) -> ModelFailure:
        kind = _KINDS[failed.kind]
        often = f" ({attempts} attempts)" if attempts > 1 else ""
        comes_back = failed.retry_after_seconds and kind in ("quota", "exhausted")
        resume_at = clock.timestamp(clock.now().wall_seconds + failed.retry_after_seconds)
        return ModelFailure(
            kind,
            f"model {self.settings.model} of provider {self.name}: {failed.message}{often}",
            hint=_HINTS[kind].format(name=self.name),
            resume_at=resume_at if comes_back else "",
            spent=wasted,
            spent_microdollars=self.cost(wasted),
        )
