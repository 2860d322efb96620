"""Whatever happened to a history, a model can be sent it, and nothing of the task is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fordjent.agent.history import INTERRUPTED, problems, repair
from fordjent.models.messages import Message, ToolCall, answer_to, system, user

A, B = ToolCall("a", "bash", '{"command": "ls"}'), ToolCall("b", "read_file", '{"path": "x"}')
TASK = [system("Careful."), user("Do it.")]


def assistant(text: str, *calls: ToolCall) -> Message:
    return Message("assistant", text, calls)


# ---- by example


def test_a_valid_history_stays_as_it_is() -> None:
    said = [*TASK, assistant("Looking.", A, B), answer_to(A, "1"), answer_to(B, "2"), assistant("Done.")]
    assert repair(said) == said
    assert problems(said) == []


def test_calls_that_a_crash_cut_off_are_answered_as_interrupted() -> None:
    said = [*TASK, assistant("", A, B), answer_to(A, "1")]
    assert repair(said) == [*said, answer_to(B, INTERRUPTED)]


def test_a_comment_between_call_and_result_comes_after_them() -> None:
    said = [*TASK, assistant("", A), user("Stop!"), answer_to(A, "1")]
    assert repair(said) == [*TASK, assistant("", A), answer_to(A, "1"), user("Stop!")]


def test_a_comment_after_an_interrupted_call_stays() -> None:
    said = [*TASK, assistant("", A), user("Go on.")]
    assert repair(said) == [*TASK, assistant("", A), answer_to(A, INTERRUPTED), user("Go on.")]


def test_results_without_a_call_and_second_ones_go() -> None:
    said = [*TASK, answer_to(B, "orphan"), assistant("", A), answer_to(A, "1"), answer_to(A, "again")]
    assert repair(said) == [*TASK, assistant("", A), answer_to(A, "1")]


def test_an_id_that_is_used_again_in_a_later_turn_has_its_own_result() -> None:
    said = [*TASK, assistant("", A), answer_to(A, "first"), assistant("", A), answer_to(A, "second")]
    assert repair(said) == said
    assert repair([*TASK, assistant("", A), assistant("", A), answer_to(A, "second")]) == [
        *TASK,
        assistant("", A),
        answer_to(A, INTERRUPTED),
        assistant("", A),
        answer_to(A, "second"),
    ]


def test_arguments_that_are_no_object_are_not_sent_again() -> None:
    for bad in ("{", "[1]", '"x"', "", "null", "[" * 100_000):
        call = ToolCall("a", "bash", bad)
        mended = repair([*TASK, assistant("", call), answer_to(call, "Error: …")])
        assert mended[2].tool_calls == (ToolCall("a", "bash", "{}"),)
        assert mended[3].content == "Error: …"


def test_all_system_messages_are_one_that_leads() -> None:
    assert repair([user("Do it."), system("One."), assistant("Yes."), system("Two.")]) == [
        system("One.\n\nTwo."),
        user("Do it."),
        assistant("Yes."),
    ]


def test_ids_that_are_missing_or_double_become_different() -> None:
    calls = (ToolCall("", "bash"), ToolCall("x", "bash"), ToolCall("x", "bash"), ToolCall("", "bash"))
    results = [answer_to(call, str(number)) for number, call in enumerate(calls)]
    mended = repair([*TASK, assistant("", *calls), *results])
    assert problems(mended) == []
    assert [message.content for message in mended[3:]] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    "said",
    [
        [user("x"), system("late")],
        [*TASK, answer_to(A, "1")],
        [*TASK, assistant("", A)],
        [*TASK, assistant("", A), user("x"), answer_to(A, "1")],
        [*TASK, assistant("", A, A), answer_to(A, "1"), answer_to(A, "1")],
        [*TASK, assistant("", ToolCall("a", "bash", "{")), answer_to(A, "1")],
        [*TASK, assistant(" ")],
        [*TASK, assistant("", A, B), answer_to(B, "2"), answer_to(A, "1")],
    ],
)
def test_what_an_endpoint_would_refuse_is_found(said: list[Message]) -> None:
    assert problems(said)
    assert problems(repair(said)) == []


# ---- by property

words = st.text("abc \n", max_size=6)
identifiers = st.sampled_from(["a", "b", "c", ""])
arguments = st.sampled_from(["{}", '{"x": 1}', "{", "[]", ""])
calls = st.builds(ToolCall, identifiers, st.sampled_from(["bash", "git"]), arguments)
messages = st.one_of(
    st.builds(system, words),
    st.builds(user, words),
    st.builds(lambda text, called: assistant(text, *called), words, st.lists(calls, max_size=3)),
    st.builds(lambda call, text: answer_to(call, text), calls, words),
)


@st.composite
def valid_histories(draw: st.DrawFn) -> list[Message]:
    said = [system("The plan."), user("The task.")]
    for turn in range(draw(st.integers(0, 5))):
        own = [ToolCall(f"call_{turn}_{number}", "bash") for number in range(draw(st.integers(0, 3)))]
        said.append(assistant(f"turn {turn}", *own))
        said += [answer_to(call, f"result of {call.id}") for call in own]
        said += [user(text) for text in draw(st.lists(st.sampled_from(["one", "two"]), max_size=2))]
    return said


def said_by(role: str, history: list[Message]) -> list[str]:
    return [message.content for message in history if message.role == role]


@settings(max_examples=300, deadline=None)
@given(st.lists(messages, max_size=14))
def test_any_messages_at_all_become_valid(history: list[Message]) -> None:
    mended = repair(history)
    assert problems(mended) == []
    assert repair(mended) == mended
    assert said_by("user", mended) == said_by("user", history)
    assert "".join(said_by("system", mended)) == "\n\n".join(said_by("system", history))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_truncation_of_a_valid_history_becomes_valid_with_all_that_was_said(data: st.DataObject) -> None:
    history = data.draw(valid_histories())
    assert repair(history) == history
    cut = history[: data.draw(st.integers(2, len(history)))]
    mended = repair(cut)
    assert problems(mended) == []
    assert mended[: len(cut)] == cut, "only what is missing is added"
    assert {message.content for message in mended[len(cut) :]} <= {INTERRUPTED}


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_order_of_results_and_comments_becomes_valid_with_each_result_at_its_call(
    data: st.DataObject,
) -> None:
    history = data.draw(valid_histories())
    answered = [message for message in history if message.role == "assistant"]
    rest = [message for message in history if message.role != "assistant"]
    merged = list(answered)
    for message in data.draw(st.permutations(rest)):
        merged.insert(data.draw(st.integers(0, len(merged))), message)
    mended = repair(merged)
    assert problems(mended) == []
    assert sorted(said_by("user", mended)) == sorted(said_by("user", history))
    assert said_by("assistant", mended) == said_by("assistant", history)
    for message in mended:
        if message.role == "tool":
            assert message.content in (INTERRUPTED, f"result of {message.tool_call_id}")
