"""What came of a run, as a table of facts."""

from __future__ import annotations

from typing import Any

import pytest

from ent_agent.finalization.outcome import Facts, judge

HANDED_OVER = {"statement": "done", "handed_over": True, "commits": 1}

TABLE: list[tuple[dict[str, Any], str, bool]] = [
    # facts, outcome, whether the attempt counts as failed
    ({"commits": 1}, "completed", False),
    ({"commits": 1, "statement": "other"}, "completed", False),
    ({"statement": "done"}, "completed", False),
    ({"statement": "done", "left_overs": True}, "completed", False),
    (HANDED_OVER, "completed", False),
    ({"statement": "stuck"}, "stuck", False),
    ({"statement": "stuck", "commits": 3}, "stuck", False),
    ({"statement": "stuck", "handed_over": True}, "stuck", False),
    ({"handed_over": True}, "stuck", False),
    ({"statement": "other"}, "stuck", False),
    ({"last_words": "done", "commits": 1}, "completed", False),
    ({"last_words": "done", "left_overs": True}, "completed", False),
    ({"last_words": "done", "ahead": True}, "completed", False),
    ({"ahead": True}, "failed", True),
    ({"last_words": "other", "commits": 1}, "completed", False),
    ({"last_words": "stuck"}, "stuck", False),
    ({"last_words": "stuck", "commits": 1}, "stuck", False),
    ({"last_words": "stuck", "statement": "done"}, "completed", False),
    # last words alone prove nothing
    ({"last_words": "done"}, "failed", True),
    ({"last_words": "other"}, "failed", True),
    # neither a commit nor a statement, whatever the exit code
    ({}, "failed", True),
    ({"exit_code": 0, "reported": "success"}, "failed", True),
    ({"left_overs": True}, "failed", True),
    ({"exit_code": 1}, "failed", True),
    # failure, even with commits
    ({"exit_code": 1, "commits": 2}, "failed", True),
    ({"reported": "error", "commits": 2}, "failed", True),
    ({"reported": "error", "statement": "done"}, "failed", True),
    ({"ended_by": "start_failed"}, "failed", True),
    ({"ended_by": "timeout", "commits": 2}, "timeout", True),
    ({"ended_by": "silence"}, "timeout", True),
    ({"reported": "turn_limit"}, "turn_limit", True),
    ({"reported": "turn_limit", "exit_code": 0, "commits": 2}, "turn_limit", True),
    # what is no fault of the attempt
    ({"reported": "quota", "exit_code": 1}, "quota", False),
    ({"reported": "quota", "exit_code": 0, "commits": 1}, "quota", False),
    ({"reported": "auth"}, "auth", False),
    ({"ended_by": "interrupted", "commits": 1}, "cancelled", False),
    ({"ended_by": "cancelled"}, "cancelled", False),
    ({"ended_by": "claim_lost"}, "cancelled", False),
    ({"ended_by": "signal", "signal": "KILL"}, "failed", False),
    ({"ended_by": "signal", "signal": "TERM", "commits": 1}, "failed", False),
    # but a crash of its own is one
    ({"ended_by": "signal", "signal": "SEGV"}, "failed", True),
    ({"ended_by": "signal", "signal": "ABRT", "commits": 1}, "failed", True),
    # said to be done and handed over: what came after takes nothing from it
    ({**HANDED_OVER, "ended_by": "timeout"}, "completed", False),
    ({**HANDED_OVER, "ended_by": "silence"}, "completed", False),
    ({**HANDED_OVER, "exit_code": 1}, "completed", False),
    ({**HANDED_OVER, "reported": "quota"}, "completed", False),
    # a person's word comes first
    ({**HANDED_OVER, "not_ours": "is done"}, "cancelled", False),
    ({"ended_by": "timeout", "not_ours": "is assigned to alice"}, "cancelled", False),
    ({**HANDED_OVER, "ended_by": "claim_lost"}, "cancelled", False),
]


@pytest.mark.parametrize(("facts", "outcome", "counts"), TABLE)
def test_judge(facts: dict[str, Any], outcome: str, counts: bool) -> None:
    verdict = judge(Facts(**facts))
    assert (verdict.outcome, verdict.counts) == (outcome, counts)
    assert verdict.reason


def test_the_reason_says_what_a_person_made_of_the_issue() -> None:
    assert judge(Facts(not_ours="is assigned to alice")).reason == "the issue is assigned to alice"
