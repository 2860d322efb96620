"""The loop: how runs end, what the model is told on the way, and that stopping is clean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from fordjent.agent import context, turns
from fordjent.agent.held import HeldConversation
from fordjent.agent.history import INTERRUPTED, problems, repair
from fordjent.agent.progress import ENDED_AT, NOT_UNDERSTOOD_AT, WARNED_AT, WARNING
from fordjent.agent.protocols import Ended, Limits, ToolResult
from fordjent.agent.turns import CUT_OFF, NOT_DONE
from fordjent.models.messages import Answer, Message, ToolCall, answer_to, system, user
from fordjent.models.model import ModelFailure
from tests.support.held_model import HeldModel, HeldToolbox, answers

TASK = [system("The plan."), user("The task.")]
LOOK = ("look", {"at": "x"})


class Spoken(HeldConversation):
    """People speak in it: `said` are the messages that come before each turn."""

    def __init__(self, *said: list[str], begun: list[Message] | None = None) -> None:
        super().__init__(begun or TASK)
        self._said = list(said)
        self.turns: list[int] = []

    async def new_inputs(self) -> list[Message]:
        new = [user(text) for text in self._said.pop(0)] if self._said else []
        await self.append(*new)
        return new

    async def note_turn(self, number: int, answer: Answer) -> None:
        self.turns.append(number)


def run(
    model: HeldModel,
    toolbox: HeldToolbox | None = None,
    conversation: HeldConversation | None = None,
    watch: Callable[[], Any] = lambda: "",
    **limits: Any,
) -> Ended:
    given = Limits(**{"max_turns": 20, **limits})
    tools = toolbox or HeldToolbox(look=ToolResult("seen"), write=ToolResult("written", changed=True))
    return asyncio.run(turns.run(conversation or Spoken(), model, tools, given, watch))


def texts(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]


# ---- ends


def test_an_answer_without_a_call_ends_the_run() -> None:
    model = HeldModel(answers("Looking.", LOOK), answers("Done."))
    conversation = Spoken()
    ended = run(model, conversation=conversation)
    assert (ended.reason, ended.text, ended.turns) == ("answered", "Done.", 2)
    assert texts(model.asked[1]) == ["The plan.", "The task.", "Looking.", "seen"]
    assert conversation.turns == [1, 2]


def test_a_tool_may_end_the_run_and_what_was_called_after_it_is_not_done() -> None:
    toolbox = HeldToolbox(look=ToolResult("seen"), open=ToolResult("Opened #7.", ends=True, changed=True))
    conversation = Spoken()
    ended = run(HeldModel(answers("", ("open", {}), LOOK)), toolbox, conversation)
    assert (ended.reason, ended.text, ended.turns) == ("ended_by_tool", "Opened #7.", 1)
    assert [call.name for call in toolbox.called] == ["open"]
    history = asyncio.run(conversation.messages())
    assert texts(history)[-2:] == ["Opened #7.", NOT_DONE]
    assert problems(history) == []


def test_turns_are_limited_and_the_model_is_told_when_they_end() -> None:
    model = HeldModel(*[answers("", ("write", {"n": number})) for number in range(9)])
    ended = run(model, max_turns=5)
    assert (ended.reason, ended.turns, len(model.asked)) == ("max_turns", 5, 5)
    told = [text for text in texts(model.asked[-1]) if "turn" in text]
    assert len(told) == 2
    assert "3 turns left" in told[0] and "last turn" in told[1]


def test_the_same_again_and_again_is_warned_about_and_then_ended() -> None:
    model = HeldModel(answers("", LOOK))
    ended = run(model, max_turns=50)
    assert (ended.reason, ended.turns) == ("no_progress", ENDED_AT)
    assert [WARNING in texts(asked) for asked in model.asked].index(True) == WARNED_AT


def test_going_round_in_a_circle_is_no_progress_either() -> None:
    circle = [answers("", LOOK), answers("", ("look", {"at": "y"}))] * 20
    ended = run(HeldModel(*circle), max_turns=50)
    assert (ended.reason, ended.turns) == ("no_progress", 2 * ENDED_AT - 1)


def test_the_same_call_after_a_change_is_progress() -> None:
    work = [answer for n in range(12) for answer in (answers("", LOOK), answers("", ("write", {"n": n})))]
    assert run(HeldModel(*work, answers("Done.")), max_turns=50).reason == "answered"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("auth", "error"),
        ("exhausted", "error"),
        ("refused", "error"),
        ("quota", "error"),
        ("budget", "budget"),
    ],
)
def test_a_model_that_fails_ends_the_run_with_the_failure(kind: Any, reason: str) -> None:
    ended = run(HeldModel(answers("", LOOK), ModelFailure(kind, "no more")))
    assert (ended.reason, ended.text, ended.turns) == (reason, "no more", 2)
    assert ended.failure and ended.failure.kind == kind


# ---- what goes wrong in an answer


def test_arguments_that_are_no_json_go_back_as_that_calls_result() -> None:
    model = HeldModel(answers("", ("look", '{"at": '), LOOK), answers("Done."))
    toolbox = HeldToolbox(look=ToolResult("seen"))
    assert run(model, toolbox).reason == "answered"
    assert len(toolbox.called) == 1
    bad, good = model.asked[1][-2:]
    assert bad.content.startswith("Error: the arguments of look are no JSON object")
    assert '{"at": ' in bad.content
    assert good.content == "seen"
    assert problems(model.asked[1]) == []


def test_an_unknown_tool_goes_back_with_the_names_that_there_are() -> None:
    model = HeldModel(answers("", ("rm_rf", {})), answers("Done."))
    run(model)
    assert model.asked[1][-1].content == "Error: there is no tool 'rm_rf'. There are: look, write"


def test_a_model_that_is_never_understood_is_ended() -> None:
    model = HeldModel(*[answers("", ("look", "{" * (number + 1))) for number in range(30)])
    ended = run(model, max_turns=50)
    assert (ended.reason, ended.turns) == ("no_progress", NOT_UNDERSTOOD_AT)


def test_an_answer_that_was_cut_off_is_gone_on_with() -> None:
    model = HeldModel(answers("So far", finish="length"), answers("Done."))
    assert run(model).text == "Done."
    assert texts(model.asked[1])[-2:] == ["So far", CUT_OFF]


def test_answers_that_are_always_cut_off_end() -> None:
    ended = run(HeldModel(answers("So far", finish="length")), max_turns=50)
    assert (ended.reason, ended.turns) == ("no_progress", NOT_UNDERSTOOD_AT)


def test_a_call_that_was_cut_off_is_told_why() -> None:
    model = HeldModel(answers("", ("look", '{"at": "very lo'), finish="length"), answers("Done."))
    run(model)
    assert "cut off at its longest length" in model.asked[1][-1].content


# ---- what people say meanwhile


def test_a_comment_during_a_run_is_given_before_the_next_turn() -> None:
    model = HeldModel(answers("", LOOK), answers("", LOOK), answers("Done."))
    run(model, conversation=Spoken([], [], ["Use tabs."]))
    assert "Use tabs." not in texts(model.asked[0])
    assert texts(model.asked[1])[-1] == "Use tabs."


def test_a_comment_that_comes_with_the_last_answer_is_answered_too() -> None:
    model = HeldModel(answers("Done."), answers("Done again."))
    ended = run(model, conversation=Spoken([], [], ["One more thing."]))
    assert (ended.text, ended.turns) == ("Done again.", 2)
    assert texts(model.asked[1])[-2:] == ["Done.", "One more thing."]


# ---- stops and restarts


@pytest.mark.parametrize("why", ["cancelled", "timeout"])
def test_a_run_that_is_to_stop_stops_within_a_model_call(why: Any) -> None:
    begun: list[bool] = []
    ended: list[bool] = []

    async def hangs() -> Answer:
        begun.append(True)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)
        raise AssertionError

    stopped = run(HeldModel(hangs), watch=lambda: why if begun else "")
    assert stopped.reason == why
    assert ended == [True]


def test_a_tool_that_is_stopped_may_clean_up_and_is_answered_as_interrupted_next_time() -> None:
    begun: list[bool] = []
    cleaned: list[bool] = []

    async def hangs(_: ToolCall) -> ToolResult:
        begun.append(True)
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)
        raise AssertionError

    conversation = Spoken()
    toolbox = HeldToolbox(hang=hangs)
    ended = run(
        HeldModel(answers("", ("hang", {}))), toolbox, conversation, lambda: "cancelled" if begun else ""
    )
    assert (ended.reason, cleaned) == ("cancelled", [True])
    model = HeldModel(answers("Done."))
    assert run(model, conversation=conversation).reason == "answered"
    assert texts(model.asked[0])[-1] == INTERRUPTED


def test_cancelling_the_task_is_clean_too() -> None:
    begun = asyncio.Event()

    async def hangs() -> Answer:
        begun.set()
        await asyncio.sleep(60)
        raise AssertionError

    async def cancelled() -> list[Message]:
        conversation = Spoken()
        model, tools = HeldModel(answers("", LOOK), hangs), HeldToolbox(look=ToolResult("seen"))
        task = asyncio.create_task(turns.run(conversation, model, tools, Limits(9), lambda: ""))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1
        return await conversation.messages()

    assert texts(asyncio.run(cancelled())) == ["The plan.", "The task.", "", "seen"]


def test_a_restart_after_the_last_answer_asks_nothing_again() -> None:
    model = HeldModel(answers("Again."))
    ended = run(model, conversation=Spoken(begun=[*TASK, Message("assistant", "Done.")]))
    assert (ended.reason, ended.text, ended.turns, model.asked) == ("answered", "Done.", 0, [])


def test_a_restart_with_something_new_said_goes_on() -> None:
    model = HeldModel(answers("Again."))
    ended = run(model, conversation=Spoken(["And now?"], begun=[*TASK, Message("assistant", "Done.")]))
    assert (ended.text, texts(model.asked[0])[-2:]) == ("Again.", ["Done.", "And now?"])


def test_what_is_asked_is_always_valid_however_the_history_was_left() -> None:
    call = ToolCall("x", "look", "{")
    left = [*TASK, Message("assistant", "", (call,)), user("Hurry."), answer_to(ToolCall("y", "look"), "?")]
    model = HeldModel(answers("Done."))
    run(model, conversation=Spoken(begun=left))
    assert problems(model.asked[0]) == []
    assert model.asked[0] == repair(left)


# ---- the window


def test_a_long_conversation_is_made_shorter_before_the_call_and_stays_so() -> None:
    work = [answers("", ("write", {"n": number}), tokens=0) for number in range(30)]
    big = HeldToolbox(write=ToolResult("x" * 7000, changed=True))
    model = HeldModel(*work, answers("Done."))
    assert run(model, big, max_turns=50, context_window=10_000).reason == "answered"
    lengths = [context.tokens(asked, []) for asked in model.asked]
    assert max(lengths) < 10_000 * 0.8 + 2000 + 500
    assert all(asked[:2] == TASK and not problems(asked) for asked in model.asked)
    assert sum(after < before for before, after in pairwise(lengths)) < 15


def test_the_endpoints_own_count_decides() -> None:
    model = HeldModel(answers("", LOOK, tokens=9_000), answers("Done."))
    begun = [*TASK, *(message for n in range(5) for message in _turn(n))]
    run(model, conversation=Spoken(begun=begun), context_window=10_000)
    assert texts(model.asked[1])[2].startswith(context.NOTICE)


def test_old_turns_are_summed_up_by_the_model_where_that_is_wanted() -> None:
    begun = [*TASK, *(message for n in range(9) for message in _turn(n))]
    model = HeldModel(answers("I looked at x."), answers("Done."))
    run(model, conversation=Spoken(begun=begun), context_window=600, compaction="summary")
    assert "turn 0" in texts(model.asked[0])[1], "what is left out is what it sums up"
    assert texts(model.asked[1])[2].endswith("I looked at x.")
    assert len(model.asked) == 2


def test_a_summary_that_cannot_be_had_leaves_the_turns_out_all_the_same() -> None:
    begun = [*TASK, *(message for n in range(9) for message in _turn(n))]
    model = HeldModel(ModelFailure("exhausted", "no"), answers("Done."))
    assert (
        run(model, conversation=Spoken(begun=begun), context_window=600, compaction="summary").text == "Done."
    )


def test_an_endpoint_that_finds_it_too_long_is_asked_once_more_with_less() -> None:
    begun = [*TASK, *(message for n in range(9) for message in _turn(n))]
    model = HeldModel(ModelFailure("context", "too long"), answers("Done."))
    assert run(model, conversation=Spoken(begun=begun)).text == "Done."
    assert len(model.asked[1]) < len(model.asked[0])
    model = HeldModel(ModelFailure("context", "too long"))
    ended = run(model, conversation=Spoken(begun=begun))
    assert (ended.reason, len(model.asked)) == ("error", 2)


def _turn(number: int) -> list[Message]:
    call = ToolCall(f"c{number}", "look", f'{{"at": {number}}}')
    return [Message("assistant", f"turn {number}", (call,)), answer_to(call, "y" * 300)]
