"""All models of the configuration, for all sessions of the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from fordjent import config
from fordjent.models.endpoint import Endpoint
from fordjent.models.messages import Answer, Message, ToolCall, ToolSpec, Usage
from fordjent.models.model import ModelFailure
from fordjent.models.provider import Provider
from fordjent.models.scripted import SCHEME, ScriptedEndpoint
from harness import config as toml
from harness.errors import BadConfig

Redact = Callable[[str], str]


class Providers:
    """Models by the names of their providers; `place` finds the file that a script's path means.

    What `redact` takes out of a text reaches no provider.

    Raises:
        BadConfig: a fallback that there is not, or a script that cannot be read.
    """

    def __init__(
        self, providers: Mapping[str, config.Provider], place: Callable[[str], Path], redact: Redact
    ) -> None:
        self._redact = redact
        self._providers = {
            name: Provider(name, settings, _endpoint(name, settings, place))
            for name, settings in providers.items()
        }
        for name, settings in providers.items():
            if settings.fallback and settings.fallback not in providers:
                raise BadConfig(f"providers.{name}.fallback: there is no provider {settings.fallback!r}")

    def named(self, provider: str) -> ModelInLine:
        """The provider of that name, and after it those that its `fallback`s name."""
        line = [self._providers[provider]]
        while (following := line[-1].settings.fallback) and following not in {one.name for one in line}:
            line.append(self._providers[following])
        return ModelInLine(line, self._redact)

    async def aclose(self) -> None:
        for provider in self._providers.values():
            await provider.aclose()


class Models(Providers):
    """Which model a role has: one of these for the whole process."""

    def __init__(self, config: config.Config, redact: Redact) -> None:
        with toml.naming(config.path):
            super().__init__(config.providers, config.folder, redact)
        self._config = config

    def of(self, role: str) -> ModelInLine:
        """The model of a role: what `[roles.<role>]` names, else the first provider."""
        given = self._config.roles.get(role)
        return self.named(given.provider if given and given.provider else self._config.first_provider)


class ModelInLine:
    """A provider and its fallbacks: each is asked when the one before it is out of order or quota."""

    def __init__(self, line: Sequence[Provider], redact: Redact) -> None:
        self.line = tuple(line)
        self._redact = redact

    @property
    def first(self) -> Provider:
        """The one that is asked as long as it answers."""
        return self.line[0]

    def most_microdollars(self, usage: Usage) -> int:
        """What a call costs whoever of them answers, at most."""
        return max(provider.cost(usage) for provider in self.line)

    async def answer(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        """
        Raises:
            ModelFailure: the last one's, with what was spent on all.
        """
        safe = await asyncio.to_thread(lambda: [redacted(message, self._redact) for message in messages])
        spent, spent_microdollars = Usage(), 0
        for place, provider in enumerate(self.line, 1):
            is_last = place == len(self.line)
            try:
                answer = await provider.answer(safe, tools, patient=is_last)
            except ModelFailure as failure:
                spent += failure.spent
                spent_microdollars += failure.spent_microdollars
                if is_last or not failure.retry:
                    failure.spent, failure.spent_microdollars = spent, spent_microdollars
                    raise
            else:
                usage = answer.usage + spent if spent != Usage() else answer.usage
                cost = answer.cost_microdollars + spent_microdollars
                return msgspec.structs.replace(answer, usage=usage, cost_microdollars=cost)
        raise AssertionError("a line has at least one provider")


def redacted(message: Message, redact: Redact) -> Message:
    """The message without secrets, in what it says and in the arguments of its calls."""
    calls = tuple(ToolCall(call.id, call.name, redact(call.arguments)) for call in message.tool_calls)
    return msgspec.structs.replace(message, content=redact(message.content), tool_calls=calls)


def _endpoint(name: str, settings: config.Provider, place: Callable[[str], Path]) -> Endpoint:
    if settings.base_url.startswith(SCHEME):
        return ScriptedEndpoint.read(name, settings.model, place(settings.base_url.removeprefix(SCHEME)))
    from fordjent.models.openai_endpoint import OpenAIEndpoint

    return OpenAIEndpoint(name, settings)
