"""What is shown: from the database, escaped, and without secrets."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Connection, insert

from fordjent.context import Context
from fordjent.intake import delivery
from fordjent.models.messages import Message, ToolCall
from fordjent.store import counters, deliveries
from fordjent.store.schema import gate_results, messages, model_calls, sessions, tool_calls, transitions
from tests.fordjent.serving.conftest import Ask
from tests.support import busy_state
from tests.support.busy_state import REPOSITORY

KEY = "acme/widget/issues/1"
SECRET = "a-token-of-the-bot"  # of tests.support.server's config


def sample(connection: Connection) -> None:
    """A session that worked and failed, one that waits, and deliveries of each kind."""
    now = time.time()
    session = {"repository": "acme/widget", "kind": "issues", "created_at": now, "changed_at": now}
    connection.execute(
        insert(sessions),
        [
            {**session, "key": KEY, "number": 1, "state": "failed", "ready_at": None, "first_input_at": None},
            {
                **session,
                "key": "acme/widget/issues/2",
                "number": 2,
                "state": "created",
                "ready_at": now,
                "first_input_at": now - 60,
            },
            {
                **session,
                "key": "acme/widget/issues/3",
                "number": 3,
                "state": "working",
                "ready_at": None,
                "first_input_at": None,
            },
        ],
    )
    change = {
        "key": KEY,
        "from_state": "working",
        "to_state": "failed",
        "reason": "<b>no</b> progress",
        "at": now,
    }
    connection.execute(insert(transitions).values(change))
    asked = {
        "key": KEY,
        "run": "r",
        "repository": "acme/widget",
        "role": "implementer",
        "provider": "main",
        "model": "m",
    }
    numbers = {
        "tokens_in": 100,
        "tokens_out": 10,
        "cost_microdollars": 2_500,
        "retries": 2,
        "latency_seconds": 1.5,
    }
    for turn, state in enumerate(("answered", "failed", "reserved")):
        connection.execute(insert(model_calls).values(**asked, **numbers, turn=turn, state=state, at=now))
    called = {
        "key": KEY,
        "run": "r",
        "turn": 0,
        "call": "c",
        "name": "bash",
        "arguments": "{}",
        "begun_at": now,
    }
    connection.execute(insert(tool_calls).values(called))
    for passed in (True, False, False):
        gate = {"key": KEY, "gate": "verify", "commit": "c", "passed": passed, "at": now}
        connection.execute(insert(gate_results).values(gate))
    said = [
        Message("user", "<script>alert(1)</script>"),
        Message("assistant", tool_calls=(ToolCall("c", "bash", f'{{"command": "echo {SECRET}"}}'),)),
        Message("tool", "x" * 5000, tool_call_id="c", name="bash"),
    ]
    for seq, message in enumerate(said):
        row = {"key": KEY, "seq": seq, "message": msgspec.json.encode(message).decode(), "at": now}
        connection.execute(insert(messages).values(row))
    for id, event in (("d1", "issues"), ("d2", "wiki"), ("d1", "issues")):
        body = json.dumps(
            {
                "number": 1,
                "action": "opened",
                "repository": {"full_name": "acme/widget"},
                "sender": {"login": "<i>"},
            }
        )
        arrived = delivery.trusted({"x-forgejo-event": event, "x-forgejo-delivery": id}, body.encode())
        deliveries.accept(connection, arrived, now - 120)
    counters.add(connection, "deliveries.rejected.401", 4)


def filled(context: Context) -> None:
    context.database.submit(sample).result(10)


def test_status_has_the_numbers_of_the_database(ask: Ask) -> None:
    found: Any = ask("/status", prepare=filled).json()
    assert found["deliveries"] == {"accepted": 1, "duplicate": 1, "ignored": 1, "filtered": 0, "rejected": 4}
    assert found["sessions"] == {
        "created": 1, "working": 1, "waiting": 0, "blocked": 0, "completed": 0, "failed": 1
    }  # fmt: skip
    assert found["queue"]["waiting"] == 2 and 119 < found["queue"]["oldest_seconds"] < 180
    assert (found["costs"]["total_cost_usd"], found["costs"]["total_tokens"]) == (0.005, 220)
    assert found["costs"]["total_sessions"] == 1 and len(found["costs"]["recent_records"]) == 2
    assert found["by_model"] == [
        {"provider": "main", "model": "m", "calls": 2, "input_tokens": 200, "output_tokens": 20, "total_tokens": 220, "cost_usd": 0.005}
    ]  # fmt: skip
    assert found["by_session_model"][0]["session_key"] == KEY
    lifecycle = found["lifecycle"]
    assert (lifecycle["active_sessions"], lifecycle["failed_sessions"]) == (1, 1)
    assert lifecycle["recent_transitions"][0]["to_state"] == "failed"
    assert [(turn["turn"], turn["tool_calls"], turn["latency_ms"]) for turn in lifecycle["recent_turns"]] == [
        (1, 0, 1500),
        (0, 1, 1500),
    ]
    assert found["metrics"] == {
        "events_total": 1, "sessions_total": 3, "sessions_active": 1, "tool_calls_total": 1, "llm_calls_total": 2,
        "llm_retries_total": 4, "input_tokens": 200, "output_tokens": 20, "cost_usd": 0.005,
    }  # fmt: skip


def test_status_since_a_time_leaves_out_older_calls_and_passes_over_nonsense(ask: Ask) -> None:
    def calls(since: str) -> int:
        return len(ask("/status", prepare=filled, params={"since": since}).json()["by_model"])

    assert calls("2100-01-01T00:00:00Z") == 0


@pytest.mark.parametrize(
    "since", ["", "yesterday", "9" * 40, "2001-01-01T00:00:00+02:00", "2001-01-01T00:00:00Z"]
)
def test_a_time_that_is_none_is_the_beginning(ask: Ask, since: str) -> None:
    found = ask("/status", prepare=filled, params={"since": since})
    assert len(found.json()["by_model"]) == 1


def test_an_empty_database_has_a_status_too(ask: Ask) -> None:
    found = ask("/status").json()
    assert (found["queue"]["waiting"], found["queue"]["oldest_seconds"]) == (0, 0.0) and set(
        found["sessions"].values()
    ) == {0}


def test_metrics_are_what_prometheus_reads_by_the_original_names(ask: Ask) -> None:
    answer = ask("/metrics", prepare=filled)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    read = {
        (one.name, *sorted(one.labels.values())): one.value
        for family in text_string_to_metric_families(answer.text)
        for one in family.samples
    }
    assert read["fordjent_events_total",] == 1
    assert read["fordjent_sessions_total",] == 3
    assert read["fordjent_sessions_active",] == 1
    assert read["fordjent_tool_calls_total",] == 1
    assert read["fordjent_llm_calls_total",] == 2
    assert read["fordjent_llm_retries_total",] == 4
    assert read["fordjent_tokens_total", "input"] == 200 and read["fordjent_tokens_total", "output"] == 20
    assert read["fordjent_cost_total_total",] == 0.005
    assert read["fordjent_deliveries_total", "duplicate"] == 1
    assert read["fordjent_deliveries_total", "rejected"] == 4
    assert read["fordjent_sessions_by_state", "failed"] == 1
    assert read["fordjent_queue_waiting",] == 2
    assert read["fordjent_model_calls_total", "answered", "implementer", "m", "main"] == 1
    assert read["fordjent_model_calls_total", "failed", "implementer", "m", "main"] == 1
    assert read["fordjent_model_tokens_total", "implementer", "input", "m", "main"] == 200
    assert read["fordjent_model_cost_dollars_total", "implementer", "m", "main"] == 0.005
    assert read["fordjent_paused",] == 0 and read["fordjent_sessions_at_work",] == 0
    for name in ("intake_latency_seconds", "turn_seconds"):
        assert read[f"fordjent_{name}_bucket", "+Inf"] == read[f"fordjent_{name}_count",]
    assert read["fordjent_gate_results_total", "false", "verify"] == 2


def test_activity_shows_deliveries_and_changes_escaped(ask: Ask) -> None:
    page = ask("/activity", prepare=filled)
    assert "d1" in page.text and "again 1 times" in page.text and f"/trace/{KEY}" in page.text
    assert "&lt;i&gt;" in page.text and "<i>" not in page.text
    assert "&lt;b&gt;no&lt;/b&gt; progress" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_a_trace_shows_a_session_escaped_cut_and_without_secrets(ask: Ask) -> None:
    page = ask(f"/trace/{KEY}", prepare=filled)
    assert page.status_code == 200
    assert "&lt;script&gt;alert(1)" in page.text and "<script>" not in page.text
    assert SECRET not in page.text and "[redacted]" in page.text
    assert "x" * 2000 + "…" in page.text and "x" * 2001 not in page.text


def test_a_trace_of_nothing_is_404_and_of_nonsense_400(ask: Ask) -> None:
    assert ask("/trace/acme/widget/pulls/1").status_code == 404
    for path in (
        "acme/widget/wiki/1",
        "acme/widget/issues/0",
        "acme/widget/issues/x",
        "acme/%2e%2e/issues/1",
    ):
        assert ask(f"/trace/{path}").status_code in (400, 404)
    assert ask("/trace/acme/widget/wiki/1").status_code == 400


def test_numbers_for_people(ask: Ask) -> None:
    page = ask("/admin", prepare=filled)
    assert (
        'data-name="events_total" value="1"' in page.text
        and 'data-name="model calls m" value="2"' in page.text
    )


def test_ready_says_what_is_missing(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        async def get(self, *_arguments: object) -> object:
            from fordjent.forge.errors import Unreachable

            raise Unreachable("GET", "/version", 0, "no route")

    def without_forge(context: Context) -> None:
        monkeypatch.setattr(context, "forge", Gone())

    answer = ask("/readyz", prepare=without_forge, client="192.0.2.7")
    assert answer.status_code == 503
    assert answer.json()["missing"] == [
        {"what": "forge", "why": "cannot be reached"},
        {"what": "model main", "why": "cannot be reached"},
    ]


def test_issues_that_wait_for_others_are_shown_with_what_for_and_cycles_by_name(ask: Ask) -> None:
    def filled(context: Context) -> None:
        context.database.submit(busy_state.fill, time.time()).result(20)

    page = ask("/admin", prepare=filled).text
    part = page[page.index('id="waiting-issues"') : page.index('id="spend"')]
    assert 'data-name="waiting issues" value="3"' in part
    assert f"{REPOSITORY}/issues/103" in part and "#102, #104" in part
    assert part.count("#101 → #102 → #101") == 2, "both that are in it say so, and the third is not in it"
