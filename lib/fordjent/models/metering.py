"""A session's model: each call is paid for from the budgets before it is made, and settled after."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from fordjent import durations
from fordjent.config import Budget
from fordjent.models import estimating, prices
from fordjent.models.messages import Answer, Message, ToolSpec, Usage
from fordjent.models.model import ModelFailure
from fordjent.models.models import ModelInLine
from fordjent.store import model_calls
from fordjent.store.database import Database
from fordjent.store.model_calls import Call


class Payer(msgspec.Struct, frozen=True):
    """For whom calls are made: the session's key as text, its run, and what the row shows besides."""

    key: str
    run: str
    repository: str
    role: str


class MeteredModel:
    """`model` for one run, with a row in `model_calls` for each call, whatever becomes of it."""

    def __init__(self, model: ModelInLine, database: Database, budget: Budget, payer: Payer) -> None:
        self._model = model
        self._database = database
        self._budget = budget
        self._payer = payer
        self._turn = 0

    async def answer(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        """
        Raises:
            ModelFailure: kind budget when the call might go over one, or nobody knows what it costs; else
                the model's.
        """
        if any(msgspec.structs.astuple(self._budget)):
            await asyncio.to_thread(_must_be_priced, self._model)
        self._turn += 1
        provider = self._model.first
        most = Usage(
            estimating.of_messages(messages) + estimating.of_tools(tools), provider.settings.max_tokens
        )
        call = Call(
            self._payer.key,
            self._payer.run,
            self._payer.repository,
            self._payer.role,
            self._turn,
            provider.name,
            provider.settings.model,
            self._model.most_microdollars(most),
        )
        reserved = await self._database.write(model_calls.reserve, call, self._budget, time.time())
        try:
            answer = await self._model.answer(messages, tools)
        except ModelFailure as failure:
            await self._database.write(model_calls.fail, reserved, failure)
            raise
        except asyncio.CancelledError:  # what it cost is not known: what was reserved counts
            self._database.submit(model_calls.abandon, reserved, "cancelled")
            raise
        await self._database.write(model_calls.settle, reserved, answer)
        durations.MODEL.labels(answer.provider, answer.model).observe(answer.latency_seconds)
        return answer


def _must_be_priced(model: ModelInLine) -> None:
    """
    Raises:
        ModelFailure: kind budget; one that may answer has no price, so that no budget could hold it.
    """
    for name in prices.unknown({provider.name: provider.settings for provider in model.line}):
        raise ModelFailure(
            "budget",
            f"no price of the model of providers.{name} is known, so that no budget can hold its calls",
            hint=f"set {prices.keys(name)} in config.toml; 0 declares a free model",
        )
