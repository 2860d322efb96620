"""What comes of a run is judged by what is there, not by what the agent says."""

from __future__ import annotations

import pytest

from fordjent.agent.protocols import Ended, Reason
from fordjent.roles.roles import ROLES
from fordjent.sessions import labels_of_state
from fordjent.sessions.outcome import Evidence, judge
from fordjent.store.sessions import Session

MERGED_OR_OPEN = Evidence(pull=7, pushed=True, moved=True)


def ended(reason: Reason = "answered") -> Ended:
    return Ended(reason, "All done!", 9)


@pytest.mark.parametrize(
    ("reason", "evidence", "state", "why"),
    [
        ("answered", MERGED_OR_OPEN, "completed", ""),
        ("ended_by_tool", MERGED_OR_OPEN, "completed", ""),
        ("max_turns", MERGED_OR_OPEN, "completed", ""),
        ("answered", Evidence(pull=7, pushed=True, said=True), "completed", ""),
        ("answered", Evidence(pull=7, pushed=True), "failed", "no_progress"),
        ("answered", Evidence(pull=7, pushed=False, moved=True), "failed", "no_progress"),
        ("ended_by_tool", Evidence(), "failed", "no_progress"),
        ("ended_by_tool", Evidence(waits_for=(3, 4)), "waiting", ""),
        ("answered", Evidence(said=True), "blocked", ""),
        ("answered", Evidence(), "failed", "no_progress"),
        ("max_turns", Evidence(), "failed", "max_turns"),
        ("budget", Evidence(), "failed", "budget"),
        ("budget", Evidence(said=True), "failed", "budget"),
        ("budget", MERGED_OR_OPEN, "completed", ""),
        ("error", Evidence(), "failed", "error"),
        ("timeout", Evidence(pull=7, pushed=False), "failed", "timeout"),
        ("no_progress", Evidence(), "failed", "no_progress"),
        ("cancelled", MERGED_OR_OPEN, "waiting", ""),
    ],
)
def test_who_makes_pull_requests(reason: Reason, evidence: Evidence, state: str, why: str) -> None:
    outcome = judge(ROLES["implementer"], ended(reason), evidence, "closed by bob")
    assert (outcome.state, outcome.why) == (state, why)


@pytest.mark.parametrize("role", ["pm", "reviewer"])
@pytest.mark.parametrize(
    ("reason", "evidence", "state", "why"),
    [
        ("answered", Evidence(said=True), "completed", ""),
        ("answered", Evidence(), "failed", "no_progress"),
        ("answered", MERGED_OR_OPEN, "failed", "no_progress"),
        ("max_turns", Evidence(), "failed", "max_turns"),
        ("max_turns", Evidence(said=True), "completed", ""),
    ],
)
def test_who_makes_none(role: str, reason: Reason, evidence: Evidence, state: str, why: str) -> None:
    outcome = judge(ROLES[role], ended(reason), evidence)
    assert (outcome.state, outcome.why) == (state, why)


def test_what_is_lacking_is_said_with_the_way_out() -> None:
    outcome = judge(ROLES["implementer"], ended(), Evidence())
    assert outcome.lacking == "there is no pull request" and "forgejo_create_pr" in outcome.way_out


def session(
    state: str, failure: str = "", *, pull: int = 0, kind: str = "issues", cancel: str = ""
) -> Session:
    return Session(
        key="acme/widget/issues/1",
        repository="acme/widget",
        kind=kind,
        number=1,
        role="implementer",
        state=state,
        reason="",
        failure=failure,
        branch="",
        base="",
        pull=pull,
        status_comment=0,
        shown="",
        ready_at=None,
        first_input_at=None,
        lease_owner="",
        lease_until=0.0,
        cancel=cancel,
        failures=0,
        created_at=1.0,
        changed_at=1.0,
    )


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (session("created"), ""),
        (session("working"), "in_progress"),
        (session("waiting"), "blocked"),
        (session("waiting", cancel="closed by bob"), ""),
        (session("blocked"), "blocked"),
        (session("completed", pull=7), "review"),
        (session("completed", pull=7, kind="pulls"), ""),
        (session("completed"), ""),
        (session("failed", "max_turns"), "fordjent/failed:max_turns"),
        (session("failed", "budget"), "fordjent/failed:budget"),
    ],
)
def test_a_state_has_one_label_at_most(given: Session, label: str) -> None:
    assert labels_of_state.label(given) == label
    assert not label or labels_of_state.is_ours(label)


def test_labels_of_others_are_not_ours() -> None:
    assert not any(map(labels_of_state.is_ours, ("bug", "role:pm", "plan-approved", "blocked-by-design")))
