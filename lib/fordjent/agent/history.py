"""What a model may be sent: one leading system's message, every call answered once, right after it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from fordjent.models.messages import Message, ToolCall, answer_to

INTERRUPTED = "Interrupted by a restart; it is not known whether it took effect. Look before doing it again."


def repair(messages: Sequence[Message]) -> list[Message]:
    """The nearest valid history: the same when it is valid already.

    What systems and users said stays, in order. Results move to their calls; calls without one are
    answered as interrupted; results without a call go; arguments that are no JSON object become {},
    since endpoints refuse them ever after.
    """
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    said = [message for message in messages if message.role != "system" and not _says_nothing(message)]
    results = _results(said)
    repaired = [Message("system", system)] if system else []
    for place, message in enumerate(said):
        if message.role == "user" or (message.role == "assistant" and not message.tool_calls):
            repaired.append(message)
        elif message.role == "assistant":
            calls = tuple(_mended(message.tool_calls, place))
            repaired.append(msgspec.structs.replace(message, tool_calls=calls))
            for number, call in enumerate(calls):
                result = results.get((place, number))
                repaired.append(answer_to(call, result.content if result else INTERRUPTED))
    return repaired


def problems(messages: Sequence[Message]) -> list[str]:
    """Why an endpoint could refuse this history; none: it is valid."""
    found = []
    waiting: list[ToolCall] = []
    for place, message in enumerate(messages):
        if message.role == "system" and place:
            found.append(f"{place}: a system's message that does not lead")
        if message.role == "tool":
            if not waiting or message.tool_call_id != waiting.pop(0).id:
                found.append(f"{place}: a result without its call")
            continue
        if waiting:
            found.append(f"{place}: {len(waiting)} calls without a result")
        if message.role != "system" and _says_nothing(message):
            found.append(f"{place}: says nothing")
        waiting = list(message.tool_calls)
        if len({call.id for call in waiting} - {""}) != len(waiting):
            found.append(f"{place}: ids that are not unique")
        if not all(is_json_object(call.arguments) for call in waiting):
            found.append(f"{place}: arguments that are no JSON object")
    if waiting:
        found.append(f"end: {len(waiting)} calls without a result")
    return found


def is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _says_nothing(message: Message) -> bool:
    return message.role == "assistant" and not message.content.strip() and not message.tool_calls


def _results(messages: Sequence[Message]) -> dict[tuple[int, int], Message]:
    """Results by the place of their message and the number of their call in it.

    A result belongs to the last call of its id before it that has none yet: some endpoints
    give the same ids again in each turn.
    """
    results: dict[tuple[int, int], Message] = {}
    open_calls: dict[str, list[tuple[int, int]]] = {}
    for place, message in enumerate(messages):
        for number, call in enumerate(message.tool_calls):
            calls = open_calls.setdefault(call.id, [])
            if calls and calls[0][0] != place:
                calls.clear()
            calls.append((place, number))
        if message.role == "tool" and (waiting := open_calls.get(message.tool_call_id)):
            results[waiting.pop(0)] = message
    return results


def _mended(calls: Sequence[ToolCall], place: int) -> Iterator[ToolCall]:
    """The calls with ids of their own and arguments that an endpoint takes."""
    taken = Counter(call.id for call in calls)
    seen: set[str] = set()
    for number, call in enumerate(calls):
        identifier = call.id
        if not identifier or identifier in seen:
            identifier = f"{identifier or 'call'}_{place}_{number}"
            while identifier in seen or identifier in taken:
                identifier += "_"
        seen.add(identifier)
        yield ToolCall(identifier, call.name, call.arguments if is_json_object(call.arguments) else "{}")
