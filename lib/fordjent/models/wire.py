"""The chat-completions protocol: conversations as its JSON, and its answers as ours.

Only the fields that we use are read, and leniently: endpoints that call themselves compatible leave
out ids, usage or the finish reason, and put null where a string belongs.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from fordjent.config import Provider
from fordjent.models.messages import FinishReason, Message, ToolCall, ToolSpec, Usage
from harness import cutting

Json = dict[str, Any]

_UNSUPPORTED = re.compile("unsupported|not support|only the default", re.IGNORECASE)


class Reply(msgspec.Struct, frozen=True):
    """What stands in an answer. `usage` None: it does not say."""

    message: Message
    finish_reason: FinishReason
    usage: Usage | None
    model: str

    @property
    def is_empty(self) -> bool:
        return not self.message.content.strip() and not self.message.tool_calls


class Dialect(msgspec.Struct):
    """What an endpoint has turned out to want. OpenAI's reasoning models know no `max_tokens` and no
    temperature; most others know nothing else."""

    length: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def learns(self, refusal: str) -> bool:
        """Whether this refusal (400) says what to spell differently; it is, from now on."""
        if self.length == "max_tokens" and "max_completion_tokens" in refusal:
            self.length = "max_completion_tokens"
            return True
        if self.temperature and "temperature" in refusal and _UNSUPPORTED.search(refusal):
            self.temperature = False
            return True
        return False


def request(
    messages: Sequence[Message], tools: Sequence[ToolSpec], provider: Provider, dialect: Dialect
) -> Json:
    """The body of a request, as the provider's capabilities want it."""
    fitted = list(messages)
    if not provider.parallel_tools:
        fitted = list(_one_call_each(fitted))
    if not provider.system_role:
        fitted = _system_in_front_of_user(fitted)
    body: Json = {
        "model": provider.model,
        "messages": [_message(message) for message in _joined(fitted)],
        dialect.length: provider.max_tokens,
    }
    if dialect.temperature and provider.temperature is not None:
        body["temperature"] = provider.temperature
    if tools:
        body["tools"] = [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in tools]
        if not provider.parallel_tools:
            body["parallel_tool_calls"] = False
    return body


def read(body: bytes, *, parallel_tools: bool = True) -> Reply:
    """The first choice of an answer.

    Raises:
        msgspec.MsgspecError: it is no such answer; an error that came with status 200 is quoted.
    """
    answer = msgspec.json.decode(body, type=_Answer, strict=False)
    if not answer.choices:
        said = (
            cutting.beginning(msgspec.json.encode(answer.error).decode(), 500)
            if answer.error
            else "it has no choices"
        )
        raise msgspec.ValidationError(said)
    choice = answer.choices[0]
    calls = _calls(choice.message.tool_calls or [])
    if not parallel_tools:
        calls = calls[:1]
    content = _text(choice.message.content)
    if not content.strip() and not calls:
        content = choice.message.reasoning_content or choice.message.reasoning or choice.message.refusal or ""
    return Reply(
        Message("assistant", content, calls), _finish(choice, calls), _usage(answer.usage), answer.model or ""
    )


# ---- what we send


def _one_call_each(messages: Sequence[Message]) -> Iterator[Message]:
    """Several calls of one message as messages with one each, every one followed by its result."""
    results = {
        (index, message.tool_call_id): message
        for index, group in _groups(messages)
        for message in group[1:]
        if message.role == "tool"
    }
    for index, group in _groups(messages):
        first = group[0]
        if len(first.tool_calls) < 2:
            yield from group
            continue
        for number, call in enumerate(first.tool_calls):
            yield Message("assistant", first.content if number == 0 else "", (call,))
            if result := results.get((index, call.id)):
                yield result


def _groups(messages: Sequence[Message]) -> Iterator[tuple[int, list[Message]]]:
    """Each message with the tool results that follow it."""
    group: list[Message] = []
    for index, message in enumerate(messages):
        if group and message.role != "tool":
            yield index - len(group), group
            group = []
        group.append(message)
    if group:
        yield len(messages) - len(group), group


def _system_in_front_of_user(messages: Sequence[Message]) -> list[Message]:
    text = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    place = next((index for index, message in enumerate(rest) if message.role == "user"), None)
    if not text:
        return rest
    if place is None:
        return [Message("user", text), *rest]
    rest[place] = Message("user", f"{text}\n\n{rest[place].content}")
    return rest


def _joined(messages: Sequence[Message]) -> Iterator[Message]:
    """Users' messages that follow each other as one: some templates want user and assistant to alternate."""
    held: Message | None = None
    for message in messages:
        if held and message.role == "user":
            held = Message("user", f"{held.content}\n\n{message.content}")
            continue
        if held:
            yield held
        held = message if message.role == "user" else None
        if held is None:
            yield message
    if held:
        yield held


def _message(message: Message) -> Json:
    sent: Json = {"role": message.role, "content": message.content}
    if message.role == "tool":
        sent["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        sent["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return sent


# ---- what we are answered


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | Json | None = None


class _Call(msgspec.Struct):
    id: str | None = None
    function: _Function | None = None


class _Said(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: str | None = None


class _Cached(msgspec.Struct):
    cached_tokens: int | None = None


class _Counted(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Counted | None = None
    model: str | None = None
    error: Any = None


def _calls(found: Sequence[_Call]) -> tuple[ToolCall, ...]:
    """Those with a name, each with an id of its own."""
    calls: list[ToolCall] = []
    for call in found:
        if not call.function or not call.function.name:
            continue
        arguments = call.function.arguments
        if not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments or {}).decode()
        identifier = call.id or ""
        if not identifier or identifier in {other.id for other in calls}:
            identifier = f"call_{uuid.uuid4().hex[:12]}"
        calls.append(ToolCall(identifier, call.function.name, arguments or "{}"))
    return tuple(calls)


def _text(content: str | list[Any] | None) -> str:
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content or ""


def _finish(choice: _Choice, calls: Sequence[ToolCall]) -> FinishReason:
    if choice.finish_reason in ("length", "max_tokens"):
        return "length"
    if choice.finish_reason == "content_filter":
        return "refused"
    return "tool_calls" if calls else "stop"


def _usage(counted: _Counted | None) -> Usage | None:
    if counted is None or not (counted.prompt_tokens or counted.completion_tokens):
        return None
    details = counted.prompt_tokens_details
    tokens_in = counted.prompt_tokens or 0
    cached = (details.cached_tokens if details else 0) or 0
    return Usage(tokens_in, counted.completion_tokens or 0, min(cached, tokens_in))
