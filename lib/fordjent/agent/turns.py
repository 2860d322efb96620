"""The loop: the model is asked, what it calls is done, until it answers without a call."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Literal, TypeVar

from fordjent.agent import compaction, history
from fordjent.agent.progress import WARNING, Progress
from fordjent.agent.protocols import (
    Conversation,
    Ended,
    Limits,
    Reason,
    Toolbox,
    ToolResult,
    Watch,
)
from fordjent.models.messages import Answer, Message, ToolCall, ToolSpec, answer_to, user
from fordjent.models.model import Model, ModelFailure
from harness import cutting

__all__ = ["Conversation", "Ended", "Limits", "Reason", "ToolResult", "Toolbox", "Watch", "run"]

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""How often `watch` is asked while something runs."""
LAST_TURNS = 3
"""Said when so many are left, and again at the last one."""

CUT_OFF = "Your answer was cut off: it was longer than is allowed. Go on, in smaller steps."
NOT_DONE = "Not done: the run ended with the call before it."


async def run(
    conversation: Conversation, model: Model, toolbox: Toolbox, limits: Limits, watch: Watch
) -> Ended:
    """Take turns until one of the reasons to end.

    The conversation has begun: a system's and a user's message. Cancelling the task is clean at any
    point: what was appended stays, calls without a result are answered as interrupted next time.
    """
    tools, progress, turn = toolbox.specs(), Progress(), 0
    try:
        if text := await _is_answered(conversation):
            return Ended("answered", text, turn)
        for turn in range(1, limits.max_turns + 1):
            await conversation.new_inputs()
            await conversation.append(*_turns_left(limits.max_turns - turn + 1, limits))
            answer = await _heeding(watch, _ask(conversation, model, tools, limits))
            is_cut = answer.finish_reason == "length" and not answer.message.tool_calls
            await conversation.append(answer.message, *([user(CUT_OFF)] if is_cut else []))
            await conversation.note_turn(turn, answer)
            if not answer.message.tool_calls and not is_cut:
                if await conversation.new_inputs():
                    continue
                return Ended("answered", answer.message.content, turn)
            done = await _do_all(conversation, toolbox, tools, answer, watch)
            if done.ends:
                return Ended("ended_by_tool", done.text, turn)
            verdict = progress.after(
                answer.message.tool_calls, changed=done.changed, understood=not done.failed
            )
            if verdict == "end":
                return Ended("no_progress", "the same was done again and again, and nothing changed", turn)
            if verdict == "warn":
                await conversation.append(user(WARNING))
    except _Stopped as stopped:
        return Ended(stopped.why, f"stopped: {stopped.why}", turn)
    except ModelFailure as failure:
        reason: Reason = "budget" if failure.kind == "budget" else "error"
        return Ended(reason, failure.message, turn, failure)
    return Ended("max_turns", f"all {limits.max_turns} turns are used up", limits.max_turns)


class _Stopped(Exception):
    def __init__(self, why: Literal["cancelled", "timeout"]) -> None:
        super().__init__(why)
        self.why = why


async def _is_answered(conversation: Conversation) -> str:
    """The model's last word, where a restart came right after it and nobody has spoken since."""
    messages = [] if await conversation.new_inputs() else await conversation.messages()
    last = messages[-1] if messages else user("")
    return last.content if last.role == "assistant" and not last.tool_calls else ""


async def _ask(conversation: Conversation, model: Model, tools: Sequence[ToolSpec], limits: Limits) -> Answer:
    await compaction.keep_within(conversation, model, tools, limits)
    try:
        return await model.answer(history.repair(await conversation.messages()), tools)
    except ModelFailure as failure:
        half = limits.context_window // 2
        if failure.kind != "context" or not await compaction.make_shorter(conversation, model, limits, half):
            raise
    return await model.answer(history.repair(await conversation.messages()), tools)


async def _do_all(
    conversation: Conversation,
    toolbox: Toolbox,
    tools: Sequence[ToolSpec],
    answer: Answer,
    watch: Watch,
) -> ToolResult:
    """Do the calls of an answer one after the other, each result on disk before the next call.

    What came of all: `failed` when none was understood, `text` of the one that ended the run.
    """
    calls = answer.message.tool_calls
    understood = changed = False
    for number, call in enumerate(calls):
        wrong = _wrong_with(call, tools, answer)
        result = ToolResult(wrong, failed=True) if wrong else await _heeding(watch, toolbox.call(call))
        understood, changed = understood or not wrong, changed or result.changed
        rest = [answer_to(other, NOT_DONE) for other in calls[number + 1 :]] if result.ends else []
        await conversation.append(answer_to(call, result.text), *rest)
        if result.ends:
            return ToolResult(result.text, ends=True, changed=changed)
    return ToolResult("", failed=not understood, changed=changed)


def _wrong_with(call: ToolCall, tools: Sequence[ToolSpec], answer: Answer) -> str:
    """What the model is told of a call that cannot be made; "": it can."""
    names = [tool.name for tool in tools]
    if call.name not in names:
        return f"Error: there is no tool {call.name[:80]!r}. There are: {', '.join(names)}"
    if history.is_json_object(call.arguments):
        return ""
    why = " Your answer was cut off at its longest length." if answer.finish_reason == "length" else ""
    return (
        f"Error: the arguments of {call.name} are no JSON object, so nothing was done.{why} "
        f"They began: {cutting.beginning(call.arguments, 200)}"
    )


def _turns_left(left: int, limits: Limits) -> list[Message]:
    if left == 1:
        return [
            user("This is your last turn. Say what is done and what is not; what you call is still done.")
        ]
    if left == LAST_TURNS < limits.max_turns:
        return [
            user(f"You have {left} turns left. Bring your work to an end: commit it, and say what is open.")
        ]
    return []


async def _heeding(watch: Watch, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled when `watch` says why."""
    task = asyncio.ensure_future(work)
    try:
        while True:
            if why := watch():
                raise _Stopped(why)
            if (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
                return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
