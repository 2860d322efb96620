"""How many tokens a text may have, where no endpoint has counted them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fordjent.models.messages import Message, ToolSpec

BYTES_PER_TOKEN = 3.5
"""Of code and English in today's vocabularies, rather too few than too many."""
MESSAGE_TOKENS = 5


def of_text(text: str) -> int:
    return round(len(text.encode("utf-8", "surrogateescape")) / BYTES_PER_TOKEN)


def of_messages(messages: Sequence[Message]) -> int:
    return sum(of_message(message) for message in messages)


def of_message(message: Message) -> int:
    calls = sum(of_text(call.name + call.arguments) + MESSAGE_TOKENS for call in message.tool_calls)
    return of_text(message.content) + calls + MESSAGE_TOKENS


def of_tools(tools: Sequence[ToolSpec]) -> int:
    return of_text(msgspec.json.encode(tools).decode()) if tools else 0
