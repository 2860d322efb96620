"""The scripted model: rules on what was said, the same after a restart as before."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fordjent.models.messages import Answer, Message, answer_to, system, user
from fordjent.models.model import ModelFailure
from fordjent.models.models import Models
from harness.errors import BadConfig
from tests.support.model_providers import configured, provider

TASK = [system("Role: pm."), user("Issue #42: please add hello.txt")]


def models(place: Path, *rules: dict[str, Any], **settings: Any) -> Models:
    script = place / "script.json"
    script.write_text(json.dumps({"rules": rules}))
    return Models(configured({"main": provider(f"scripted:{script}", **settings)}), str)


def ask(from_: Models, messages: list[Message]) -> Answer:
    return asyncio.run(from_.of("pm").answer(messages, []))


def test_the_first_rule_that_holds_answers_with_text_calls_and_what_it_found(place: Path) -> None:
    scripted = models(
        place,
        {"last": "never said", "text": "no"},
        {"last_role": "tool", "text": "no"},
        {"anywhere": ["Role: tester"], "text": "no"},
        {
            "last": r"#(?P<number>\d+).*add (?P<file>\S+)",
            "anywhere": [r"Role: (?P<role>\w+)"],
            "text": "Adding <file> as <role>.",
            "tool_calls": [{"name": "write", "arguments": {"path": "<file>", "issue": "<number:int>"}}],
        },
    )
    answer = ask(scripted, TASK)
    assert answer.message.content == "Adding hello.txt as pm."
    [call] = answer.message.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("write", {"path": "hello.txt", "issue": 42})
    assert answer.finish_reason == "tool_calls"
    assert answer.usage.estimated and answer.cost_microdollars > 0


def test_how_often_a_rule_answered_is_seen_in_the_conversation_so_that_a_restart_changes_nothing(
    place: Path,
) -> None:
    rules = [{"text": "One."}, {"times": 2, "text": "Two."}, {"times": 0, "text": "Ever."}]
    said, heard = list(TASK), []
    for _ in range(5):
        answer = ask(models(place, *rules), said)  # a new process each time
        heard.append(answer.message.content)
        said += [answer.message, user("go on")]
    assert heard == ["One.", "Two.", "Two.", "Ever.", "Ever."]


def test_a_call_has_an_id_of_its_own_in_each_turn(place: Path) -> None:
    rule = {"times": 0, "tool_calls": [{"name": "a"}, {"name": "b"}]}
    first = ask(models(place, rule), TASK).message
    results = [answer_to(call, "done") for call in first.tool_calls]
    second = ask(models(place, rule), [*TASK, first, *results]).message
    assert len({call.id for call in (*first.tool_calls, *second.tool_calls)}) == 4


def test_arguments_may_be_nonsense(place: Path) -> None:
    answer = ask(models(place, {"tool_calls": [{"name": "a", "arguments": "{broken"}]}), TASK)
    assert answer.message.tool_calls[0].arguments == "{broken"


def test_what_no_rule_is_for_is_refused_and_said(place: Path) -> None:
    with pytest.raises(ModelFailure, match=r"no rule of the script is for this: 'Issue #42") as failed:
        ask(models(place, {"last": "something else", "text": "x"}), TASK)
    assert failed.value.kind == "refused"


@pytest.mark.parametrize("failure", ["broken", "busy", "empty"])
def test_a_failure_that_passes_is_tried_again_like_any(place: Path, failure: str) -> None:
    answer = ask(models(place, {"text": "Done.", "failure": failure, "failures": 2}), TASK)
    assert (answer.message.content, answer.retries) == ("Done.", 2)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [("auth", "auth"), ("quota", "quota"), ("context", "context"), ("broken", "exhausted")],
)
def test_a_failure_that_stays_ends_it(place: Path, failure: str, kind: str) -> None:
    with pytest.raises(ModelFailure) as failed:
        ask(models(place, {"failure": failure}), TASK)
    assert failed.value.kind == kind


def test_a_delay_counts_against_the_time_limit(place: Path) -> None:
    scripted = models(place, {"delay": "20s", "text": "late"}, timeout="50ms", max_retries=0)
    with pytest.raises(ModelFailure, match=r"no answer within 0\.05 s"):
        ask(scripted, TASK)


def test_usage_may_be_given(place: Path) -> None:
    answer = ask(models(place, {"text": "x", "usage": {"tokens_in": 1000, "tokens_out": 10}}), TASK)
    assert (answer.cost_microdollars, answer.message.tokens, answer.usage.estimated) == (1020, 1010, False)


@pytest.mark.parametrize(
    "text", ["{", '{"rules": [{"unknown": 1}]}', '{"rules": [{"last": "("}]}', '{"rules": [{"delay": 3}]}']
)
def test_a_script_that_is_wrong_is_refused_at_the_start_with_its_name(place: Path, text: str) -> None:
    (place / "script.json").write_text(text)
    with pytest.raises(BadConfig, match=r"script\.json"):
        Models(configured({"main": provider(f"scripted:{place}/script.json")}), str)


def test_a_script_that_is_not_there_is_said(place: Path) -> None:
    with pytest.raises(BadConfig, match=r"providers\.main\.base_url.*nowhere\.json"):
        Models(configured({"main": provider(f"scripted:{place}/nowhere.json")}), str)
