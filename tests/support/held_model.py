"""A model in memory for tests of the loop: it answers from a list, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fordjent.agent.protocols import ToolResult
from fordjent.models.messages import Answer, FinishReason, Message, ToolCall, ToolSpec, Usage
from fordjent.models.model import ModelFailure

Said = Answer | ModelFailure | Callable[[], Awaitable[Answer]]


def answers(
    text: str = "", *calls: tuple[str, Any], finish: FinishReason | None = None, tokens: int = 0
) -> Answer:
    """A call is a tool's name and its arguments: an object, or the very text."""
    made = tuple(
        ToolCall(f"call_{number}", name, given if isinstance(given, str) else json.dumps(given))
        for number, (name, given) in enumerate(calls)
    )
    message = Message("assistant", text, made, tokens=tokens)
    return Answer(message, Usage(tokens, 0), "held", "main", finish or ("tool_calls" if made else "stop"))


class HeldModel:
    """Past its last answer the last one is repeated."""

    def __init__(self, *said: Said) -> None:
        self._said = said
        self.asked: list[list[Message]] = []

    async def answer(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        self.asked.append(list(messages))
        said = self._said[min(len(self.asked), len(self._said)) - 1]
        if isinstance(said, ModelFailure):
            raise said
        return said if isinstance(said, Answer) else await said()


class HeldToolbox:
    """Tools by name: what each gives, or a function of its call."""

    def __init__(self, **tools: ToolResult | Callable[[ToolCall], Awaitable[ToolResult]]) -> None:
        self._tools = tools
        self.called: list[ToolCall] = []

    def specs(self) -> list[ToolSpec]:
        return [ToolSpec(name, f"Does {name}.", {"type": "object"}) for name in self._tools]

    async def call(self, call: ToolCall) -> ToolResult:
        self.called.append(call)
        tool = self._tools[call.name]
        return tool if isinstance(tool, ToolResult) else await tool(call)
