"""What is left out when a conversation gets too long: old output first, then old turns; never the task."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fordjent.agent import context
from fordjent.agent.history import problems, repair
from fordjent.models import estimating
from fordjent.models.messages import Message, ToolCall, ToolSpec, answer_to, system, user

TASK = [system("The plan."), user("The task.")]


def turn(number: int, output: int, *, tokens: int = 0) -> list[Message]:
    call = ToolCall(f"call_{number}", "bash", '{"command": "ls"}')
    return [Message("assistant", f"turn {number}", (call,), tokens=tokens), answer_to(call, "x" * output)]


def turns(count: int, output: int) -> list[Message]:
    return [message for number in range(count) for message in turn(number, output)]


def shorter(messages: list[Message], too_many: int) -> list[Message]:
    return context.applied(messages, context.shorter(messages, too_many).changes)


def test_the_count_is_the_endpoints_own_with_an_estimate_for_what_came_since() -> None:
    said = [*TASK, *turn(0, 100, tokens=50_000)]
    assert context.tokens(said, []) == 50_000 + estimating.of_message(said[-1])
    assert context.tokens([*said, *turn(1, 10)], []) < 1000, "the last answer has no count"


def test_without_a_count_everything_is_estimated_with_the_tools() -> None:
    tool = ToolSpec("bash", "Runs a command. " * 100, {"type": "object"})
    assert context.tokens(TASK, [tool]) > context.tokens(TASK, []) + 400


def test_old_output_is_shortened_first_and_keeps_its_ends() -> None:
    said = [*TASK, *turns(6, 20_000)]
    changed = shorter(said, 8_000)
    assert len(changed) == len(said)
    assert len(changed[3].content) < 1000
    assert changed[3].content.startswith("xxx") and changed[3].content.endswith("xxx")
    assert "19200 characters left out" in changed[3].content
    assert changed[-6:] == said[-6:]


def test_then_whole_old_turns_go_and_a_notice_says_so() -> None:
    said = [*TASK, *turns(20, 500)]
    changed = shorter(said, 1500)
    assert changed[:2] == TASK
    assert changed[2].role == "user" and changed[2].content.startswith(context.NOTICE)
    assert changed[-6:] == said[-6:]
    assert problems(changed) == []
    again = shorter([*changed, *turns(10, 500)], 1500)
    assert sum(message.content.startswith(context.NOTICE) for message in again) == 1


def test_what_people_said_goes_after_what_the_model_did() -> None:
    said = [*TASK, *turns(3, 500), user("Use tabs."), *turns(10, 500)]
    assert user("Use tabs.") in shorter(said, 1200)
    assert user("Use tabs.") not in shorter(said, 100_000)


def test_as_a_last_resort_new_output_is_shortened() -> None:
    said = [*TASK, *turns(1, 100_000)]
    assert len(shorter(said, 20_000)[-1].content) < 1000


def test_the_old_count_is_forgotten() -> None:
    said = [*TASK, *turns(9, 5_000), *turn(9, 10, tokens=100_000)]
    changed = shorter(said, 5_000)
    assert context.tokens(changed, []) == estimating.of_messages(changed)


def test_what_went_is_told_for_a_summary() -> None:
    said = [*TASK, *turns(20, 500)]
    found = context.shorter(said, 1500)
    assert list(found.left_out) == said[2 : 2 + len(found.left_out)]
    assert found.notice_place == 2


outputs = st.integers(0, 6_000)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    said = list(TASK)
    for number, output in enumerate(draw(st.lists(outputs, max_size=15))):
        said += turn(number, output, tokens=draw(st.sampled_from([0, 0, 9_000])))
        said += [user("x" * size) for size in draw(st.lists(st.integers(0, 800), max_size=1))]
    cut = draw(st.integers(0, 1))
    return said[: len(said) - cut] if len(said) > 2 else said


@settings(max_examples=300, deadline=None)
@given(conversations(), st.integers(1, 30_000))
def test_the_task_stays_turns_stay_whole_and_it_gets_shorter(said: list[Message], too_many: int) -> None:
    changed = shorter(said, too_many)
    assert changed[:2] == TASK
    if not problems(said):
        assert problems(changed) == []
    assert problems(repair(changed)) == []
    saved = estimating.of_messages(said) - estimating.of_messages(changed)
    assert (
        saved >= too_many - 50
        or (  # the notice's own length
            [message for message in changed if message.role == "assistant"]
            == [
                Message("assistant", each.content, each.tool_calls, tokens=now.tokens)
                for each, now in zip(
                    [each for each in said if each.role == "assistant"][-context.RECENT_TURNS :],
                    [now for now in changed if now.role == "assistant"],
                    strict=True,
                )
            ]
        )
    ), "it stops early only where nothing but the last turns is left"
    assert context.shorter(changed, 0).changes == {} or too_many > 0
