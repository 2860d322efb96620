"""What goes over the wire, and what is made of what comes back: real HTTP, a stand-in of the endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from fordjent.models.messages import Answer, Message, ToolCall, ToolSpec, Usage, answer_to, system, user
from fordjent.models.model import ModelFailure
from fordjent.models.models import Models
from fordjent.models.openai_endpoint import retry_after
from harness.redaction import Redactor
from tests.support.model_endpoint import Does, ModelEndpoint, refuses, says
from tests.support.model_providers import configured, provider

ASKED = [system("You are careful."), user("Add a file.")]
TOOL = ToolSpec("bash", "Runs a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
A, B = ToolCall("a", "bash", '{"command": "ls"}'), ToolCall("b", "bash", '{"command": "pwd"}')
TWO_CALLS = [
    *ASKED,
    Message("assistant", "Looking.", (A, B)),
    answer_to(A, "one.txt"),
    answer_to(B, "/home"),
]


def ask(
    endpoint: ModelEndpoint,
    messages: Sequence[Message] = ASKED,
    tools: Sequence[ToolSpec] = (TOOL,),
    secrets: Sequence[str] = (),
    **settings: Any,
) -> Answer:
    async def asked() -> Answer:
        models = Models(configured({"main": provider(endpoint.url, **settings)}), Redactor(secrets).redact)
        try:
            return await models.of("implementer").answer(messages, tools)
        finally:
            await models.aclose()

    return asyncio.run(asked())


def failure_of(endpoint: ModelEndpoint, **settings: Any) -> ModelFailure:
    with pytest.raises(ModelFailure) as raised:
        ask(endpoint, **settings)
    return raised.value


# ---- what is sent


def test_a_request_has_model_messages_tools_and_limits() -> None:
    with ModelEndpoint(says("Done.")) as endpoint:
        ask(endpoint)
    assert endpoint.requests == [
        {
            "model": "stand-in",
            "messages": [
                {"role": "system", "content": "You are careful."},
                {"role": "user", "content": "Add a file."},
            ],
            "max_tokens": 1000,
            "temperature": 0.3,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "bash",
                        "description": TOOL.description,
                        "parameters": TOOL.parameters,
                    },
                }
            ],
        }
    ]
    assert endpoint.headers[0]["authorization"] == "Bearer sk-stand-in-key-1"


def test_calls_and_results_are_sent_as_the_protocol_has_them() -> None:
    with ModelEndpoint(says("Done.")) as endpoint:
        ask(endpoint, TWO_CALLS)
    assistant, first, second = endpoint.requests[0]["messages"][2:]
    assert [call["id"] for call in assistant["tool_calls"]] == ["a", "b"]
    assert assistant["tool_calls"][0]["function"] == {"name": "bash", "arguments": '{"command": "ls"}'}
    assert first == {"role": "tool", "content": "one.txt", "tool_call_id": "a"}
    assert second["tool_call_id"] == "b"


def test_a_model_without_system_role_gets_that_text_in_front_of_the_task() -> None:
    with ModelEndpoint(says("Done.")) as endpoint:
        ask(endpoint, system_role=False)
    assert endpoint.requests[0]["messages"] == [
        {"role": "user", "content": "You are careful.\n\nAdd a file."}
    ]


def test_a_model_that_makes_one_call_at_a_time_is_shown_and_asked_for_no_more() -> None:
    with ModelEndpoint(says("", ("bash", {"command": "a"}), ("bash", {"command": "b"}))) as endpoint:
        answer = ask(endpoint, TWO_CALLS, parallel_tools=False)
    roles = [
        (message["role"], len(message.get("tool_calls", []))) for message in endpoint.requests[0]["messages"]
    ]
    assert roles == [("system", 0), ("user", 0), ("assistant", 1), ("tool", 0), ("assistant", 1), ("tool", 0)]
    assert endpoint.requests[0]["parallel_tool_calls"] is False
    assert len(answer.message.tool_calls) == 1


def test_what_several_people_said_in_a_row_is_one_message() -> None:
    with ModelEndpoint(says("Done.")) as endpoint:
        ask(endpoint, [*ASKED, user("And a test.")])
    assert [message["content"] for message in endpoint.requests[0]["messages"]] == [
        "You are careful.",
        "Add a file.\n\nAnd a test.",
    ]


def test_no_temperature_is_sent_where_none_is_wanted() -> None:
    with ModelEndpoint(says("Done.")) as endpoint:
        ask(endpoint, temperature=None)
    assert "temperature" not in endpoint.requests[0]


def test_no_secret_reaches_the_provider() -> None:
    secret = "the-forge-token-17"
    call = ToolCall("c", "bash", json.dumps({"command": f"curl -H {secret}"}))
    said = [
        system(f"token {secret}"),
        user(f"it is {secret}"),
        Message("assistant", f"I see {secret}", (call,)),
        answer_to(call, f"got {secret}"),
    ]
    with ModelEndpoint(says("Done.")) as endpoint:
        ask(endpoint, said, secrets=[secret])
    sent = json.dumps(endpoint.requests[0])
    assert secret not in sent
    assert sent.count("[redacted]") == 5


# ---- what is understood


def test_an_answer_has_text_usage_and_price() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 400}}
    with ModelEndpoint(says("Done.", usage=usage)) as endpoint:
        answer = ask(endpoint)
    assert answer.message == Message("assistant", "Done.", tokens=1050)
    assert answer.usage == Usage(1000, 50, 400)
    assert (answer.provider, answer.model, answer.finish_reason, answer.retries) == (
        "main",
        "stand-in",
        "stop",
        0,
    )
    assert answer.cost_microdollars == 1000 * 1 + 50 * 2
    assert answer.latency_seconds > 0


def test_a_listed_model_is_priced_without_configuration_and_cached_tokens_are_cheaper() -> None:
    def cost(cached: int) -> int:
        usage = {
            "prompt_tokens": 1_000_000,
            "completion_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        with ModelEndpoint(says("Done.", usage=usage)) as endpoint:
            left_out = {"input_usd_per_million": None, "output_usd_per_million": None}
            return ask(endpoint, model="gpt-4o", **left_out).cost_microdollars

    assert cost(0) == 2_500_000
    assert cost(1_000_000) == 1_250_000


def test_usage_that_is_missing_is_estimated_and_said_to_be() -> None:
    with ModelEndpoint(says("Done." * 100, usage={})) as endpoint:
        usage = ask(endpoint).usage
    assert usage.estimated
    assert 20 < usage.tokens_in < 100
    assert 100 < usage.tokens_out < 200


def test_reasoning_stands_in_where_there_is_no_content() -> None:
    with ModelEndpoint(says(None, reasoning_content="Thinking.")) as endpoint:
        assert ask(endpoint).message.content == "Thinking."
    with ModelEndpoint(says("Said.", reasoning_content="Thinking.")) as endpoint:
        assert ask(endpoint).message.content == "Said."
    with ModelEndpoint(says("", ("bash", {}), reasoning_content="Thinking.")) as endpoint:
        assert ask(endpoint).message.content == ""


def test_calls_without_id_or_with_the_same_one_get_their_own() -> None:
    calls = [
        {"type": "function", "function": {"name": "bash", "arguments": {"command": "ls"}}},
        {"id": "x", "function": {"name": "bash", "arguments": None}},
        {"id": "x", "function": {"name": "bash", "arguments": "{}"}},
        {"id": "y", "function": {"name": None}},
    ]
    with ModelEndpoint(says("", tool_calls=calls, finish="tool_calls")) as endpoint:
        found = ask(endpoint).message.tool_calls
    assert [call.arguments for call in found] == ['{"command":"ls"}', "{}", "{}"]
    assert len({call.id for call in found}) == 3


def test_an_answer_that_was_cut_at_its_longest_length_says_so() -> None:
    with ModelEndpoint(says("So far", finish="length")) as endpoint:
        assert ask(endpoint).finish_reason == "length"


def test_content_in_parts_is_one_text() -> None:
    parts = [{"type": "text", "text": "Do"}, {"type": "image"}, {"type": "text", "text": "ne."}]
    with ModelEndpoint(says(None, **{"content": parts})) as endpoint:
        assert ask(endpoint).message.content == "Done."


# ---- what is tried again, and what is not


@pytest.mark.parametrize(
    "bad",
    [
        refuses(500),
        refuses(502),
        refuses(503),
        refuses(504),
        refuses(529),
        refuses(429),
        refuses(408),
        Does(body=b"<html>oops"),
        Does(body=b'{"choices": []}'),
        Does(body=b'{"error": {"message": "overloaded", "code": 502}}'),
        Does(body=b"[1, 2"),
        Does(body=says("Done.").body, way="cut"),
        Does(way="reset"),
        says(""),
        says("  \n"),
        says(None),
    ],
    ids=lambda does: f"{does.status}-{does.way}-{does.body[:30]!r}",
)
def test_what_may_pass_by_itself_is_tried_again(bad: Does) -> None:
    with ModelEndpoint(bad, bad, says("Done.")) as endpoint:
        answer = ask(endpoint)
    assert answer.message.content == "Done."
    assert answer.retries == 2
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("status", "said", "kind", "exit_code"),
    [
        (400, "bad tool schema", "refused", 78),
        (404, "no such model", "refused", 78),
        (422, "temperature?", "refused", 78),
        (401, "wrong key", "auth", 77),
        (403, "not for you", "auth", 77),
        (402, "pay first", "quota", 75),
        (429, "insufficient_quota", "quota", 75),
        (400, "This model's maximum context length is 8192 tokens", "context", 78),
        (413, "too large", "context", 78),
    ],
)
def test_what_will_not_pass_stops_at_once_and_says_why(
    status: int, said: str, kind: str, exit_code: int
) -> None:
    with ModelEndpoint(refuses(status, said)) as endpoint:
        failure = failure_of(endpoint)
        assert len(endpoint.requests) == 1
    assert (failure.kind, failure.exit_code) == (kind, exit_code)
    assert f"HTTP {status}" in failure.message
    assert said in failure.message
    assert "main" in failure.hint or kind in ("context", "quota")


def test_attempts_have_an_end() -> None:
    with ModelEndpoint(refuses(500, "broken")) as endpoint:
        failure = failure_of(endpoint, max_retries=2)
        assert len(endpoint.requests) == 3
    assert (failure.kind, failure.exit_code, failure.retry) == ("exhausted", 75, True)
    assert "3 attempts" in failure.message


def test_no_retries_is_one_attempt() -> None:
    with ModelEndpoint(refuses(500)) as endpoint:
        failure_of(endpoint, max_retries=0)
        assert len(endpoint.requests) == 1


def test_what_answers_that_were_of_no_use_cost_is_counted() -> None:
    with ModelEndpoint(says(""), says("Done.")) as endpoint:
        answer = ask(endpoint)
    assert answer.cost_microdollars == 2 * (100 * 1 + 10 * 2)
    assert answer.usage == Usage(200, 20)
    assert answer.message.tokens == 110  # of the conversation, not of the bill
    with ModelEndpoint(says("")) as endpoint:
        failure = failure_of(endpoint)
    assert failure.spent_microdollars == 4 * 120


def test_retry_after_is_the_least_that_is_waited() -> None:
    with ModelEndpoint(refuses(429, Retry_After="0.3"), says("Done.")) as endpoint:
        ask(endpoint)
        assert endpoint.times[1] - endpoint.times[0] >= 0.3


def test_an_hour_is_not_waited_for_but_named() -> None:
    with ModelEndpoint(refuses(429, Retry_After="3600")) as endpoint:
        failure = failure_of(endpoint)
        assert len(endpoint.requests) == 1
    assert failure.kind == "quota"
    assert timedelta(minutes=58) < datetime.fromisoformat(failure.resume_at) - datetime.now(UTC)


def test_retry_after_is_read_in_each_of_its_forms() -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 85 < retry_after({"retry-after": at}) <= 90
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "soon"}) == 0
    assert retry_after({"retry-after": "9" * 40}) == 0
    assert retry_after({}) == 0


@pytest.mark.parametrize("way", ["hang", "drip"])
def test_the_time_limit_is_of_the_whole_answer(way: Any) -> None:
    with ModelEndpoint(Does(body=says("Done.").body, way=way), says("Done.")) as endpoint:
        answer = ask(endpoint, timeout="500ms", max_retries=9)
    assert answer.retries >= 1


def test_an_endpoint_that_is_not_there_is_no_crash() -> None:
    with ModelEndpoint(says("Done.")) as endpoint:
        url = endpoint.url
    with pytest.raises(ModelFailure) as raised:
        asyncio.run(Models(configured({"main": provider(url)}), str).of("pm").answer(ASKED, []))
    assert raised.value.kind == "exhausted"


def test_a_call_that_is_cancelled_hangs_up() -> None:
    async def cancelled(endpoint: ModelEndpoint) -> None:
        models = Models(configured({"main": provider(endpoint.url)}), str)
        task = asyncio.create_task(models.of("pm").answer(ASKED, []))
        while not endpoint.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(endpoint.hung_up.wait, 5)
        await models.aclose()

    with ModelEndpoint(Does(way="hang")) as endpoint:
        asyncio.run(cancelled(endpoint))


# ---- dialects


def test_a_model_that_wants_another_name_for_the_longest_answer_gets_it_from_then_on() -> None:
    async def twice(endpoint: ModelEndpoint) -> None:
        models = Models(configured({"main": provider(endpoint.url)}), str)
        for _ in range(2):
            assert (await models.of("pm").answer(ASKED, [])).retries == 0
        await models.aclose()

    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    hot = "Unsupported value: 'temperature' does not support 0.3. Only the default (1) value is supported."
    with ModelEndpoint(refuses(400, said), refuses(400, hot), says("Done.")) as endpoint:
        asyncio.run(twice(endpoint))
        assert len(endpoint.requests) == 4
    for request in endpoint.requests[2:]:
        assert request["max_completion_tokens"] == 1000
        assert "max_tokens" not in request and "temperature" not in request


def test_a_refusal_that_teaches_nothing_new_ends_it() -> None:
    with ModelEndpoint(refuses(400, "Use 'max_completion_tokens' instead.")) as endpoint:
        assert failure_of(endpoint).kind == "refused"
        assert len(endpoint.requests) == 2
