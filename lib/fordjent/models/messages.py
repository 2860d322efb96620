"""What goes to a model and comes back, in no provider's own spelling."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(msgspec.Struct, frozen=True):
    """One call that the model asks for. `arguments` is what it wrote: JSON, if it did well."""

    id: str
    name: str
    arguments: str = "{}"


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation.

    `tool_calls` stand in an assistant's message; a tool's message answers the call `tool_call_id`
    of the tool `name`. `tokens`, of an assistant's message: how long the conversation was, with
    this message, as the endpoint counted it; 0: not known.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    tokens: int = 0


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as it is offered to the model. `parameters`: JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one or more calls; `tokens_cached` are part of `tokens_in`."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    estimated: bool = False
    """The endpoint told none: counted by us, roughly."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.tokens_cached + other.tokens_cached,
            self.estimated or other.estimated,
        )


FinishReason = Literal["stop", "tool_calls", "length", "refused"]


class Answer(msgspec.Struct, frozen=True):
    """What a model answered, and what that took. `provider` and `model` are those that answered."""

    message: Message
    usage: Usage
    model: str
    provider: str
    finish_reason: FinishReason = "stop"
    latency_seconds: float = 0.0
    """Of the attempt that succeeded."""
    retries: int = 0
    cost_microdollars: int = 0
    """Of all attempts, also those whose answer was of no use."""


def system(text: str) -> Message:
    return Message("system", text)


def user(text: str) -> Message:
    return Message("user", text)


def answer_to(call: ToolCall, text: str) -> Message:
    """The message that answers a tool call."""
    return Message("tool", text, tool_call_id=call.id, name=call.name)
