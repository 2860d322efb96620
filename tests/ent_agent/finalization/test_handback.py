"""What a hand-back says and to whom, as functions of values."""

from __future__ import annotations

from typing import Any

import pytest

from ent_agent.finalization import handback
from ent_agent.finalization.handback import HandBack, Report
from ent_agent.finalization.outcome import Verdict
from ent_agent.records import RunSection, Usage
from ent_agent.tracker.guard import Dropped
from ent_agent.tracker.model import Comment, Issue
from ent_agent.tracker.writer import AddComment, SetAssignee, SetState
from harness.git import Person
from harness.worktrees.leftovers import Withheld

ROBO = Person("Robo", "robo@example.org")
COMPLETED = Verdict("completed", "the agent committed its work")
FAILED = Verdict("failed", "neither a commit nor a statement came of it", counts=True)


def report(verdict: Verdict = COMPLETED, **more: Any) -> Report:
    fields: dict[str, Any] = {
        "verdict": verdict,
        "issue": "1a2b",
        "branch": "robo/1a2b",
        "base": "main",
        "commits": 2,
        "numbers": "1 file changed, 3 insertions(+)",
        "reviewer": "rita",
        "handler": "hal",
        "max_attempts": 3,
    }
    return Report(**(fields | more))


def planned(verdict: Verdict = COMPLETED, **more: Any) -> HandBack:
    made = handback.plan(report(verdict, **more))
    assert made
    return made


@pytest.mark.parametrize(
    ("made", "to"),
    [
        (report(), "rita"),
        (report(chosen="carol"), "carol"),
        (report(Verdict("stuck", "?")), "hal"),
        (report(Verdict("stuck", "?"), chosen="carol"), "carol"),
        (report(withheld=(Withheld(path="a", rule="r"),), chosen="carol"), "hal"),
        (report(is_pushed=False), "hal"),
        (report(FAILED, attempts=3), "hal"),
        (report(FAILED, attempts=1, withheld=(Withheld(path="a", rule="r"),)), "hal"),
        (report(reviewer=None), None),
    ],
)
def test_who_gets_it(made: Report, to: str | None) -> None:
    hand_back = handback.plan(made)
    assert hand_back and hand_back.to == to


@pytest.mark.parametrize(
    "made",
    [
        report(FAILED, attempts=2),
        report(Verdict("timeout", "slow", counts=True), attempts=1),
        report(Verdict("failed", "ended by signal KILL"), attempts=9),
        report(Verdict("quota", "used up"), attempts=9),
        report(Verdict("auth", "not logged in"), attempts=9),
        report(Verdict("cancelled", "is done"), withheld=(Withheld(path="a", rule="r"),)),
    ],
)
def test_what_stays_with_the_agent_or_as_a_person_set_it(made: Report) -> None:
    assert handback.plan(made) is None


def test_the_comment_of_finished_work() -> None:
    run = RunSection(
        id="r",
        agent_type="x",
        started_at="2026-01-01T10:00:00+00:00",
        ended_at="2026-01-01T11:02:03+00:00",
        usage=Usage(input_tokens=1200, cached_tokens=30000, output_tokens=5, cost_usd=1.5),
        message="Done: it works.",
    )
    assert planned(run=run).comment == (
        "Handed back for review: the agent committed its work.\n"
        "\n"
        "2 commits on `robo/1a2b`, for `main`: 1 file changed, 3 insertions(+).\n"
        "\n"
        "    git fetch && git switch robo/1a2b\n"
        "\n"
        "Its last words:\n"
        "\n"
        "> Done: it works.\n"
        "\n"
        "Spent: 1 h 2 min, 1,200 tokens in (and 30,000 cached), 5 tokens out, 1.50 USD.\n"
    )


def test_an_agent_that_said_it_and_handed_over_is_not_repeated() -> None:
    assert planned(chosen="carol", said=True).comment == ""
    assert planned(chosen="carol", said=False).comment
    assert planned(chosen=None, said=True).comment


def test_but_what_was_dropped_or_kept_aside_is_said_all_the_same() -> None:
    dropped = (Dropped("x/state", "another issue's"),)
    assert "- `x/state`: another issue's" in planned(chosen="carol", said=True, dropped=dropped).comment
    kept = planned(
        chosen="carol", said=True, kept=("refs/ent-agent/kept/r/head",), kept_why="HEAD was elsewhere"
    )
    assert "Note: HEAD was elsewhere." in kept.comment and "- `refs/ent-agent/kept/r/head`" in kept.comment


def test_the_last_attempts_comment_has_the_end_of_the_output() -> None:
    comment = planned(FAILED, attempts=3, commits=0, transcript_tail="line 1\n\nline 2").comment
    assert comment.startswith("Not done after 3 failed attempts; the last one (failed): neither a commit")
    assert "There are no commits on `robo/1a2b`." in comment
    assert "The end of its output:\n\n    line 1\n\n    line 2" in comment


def test_long_lists_are_cut_and_names_cannot_break_out_of_their_quotes() -> None:
    withheld = tuple(Withheld(path=f"f{number}`\n'\x1b[2J", rule="r") for number in range(30))
    comment = planned(withheld=withheld).comment
    assert "- and 10 more" in comment
    assert "\x1b" not in comment and "- `f0????[2J`: r" in comment
    assert "--allow 'f0????[2J'" in comment


# ---- as changes of the tracker


def issue(**more: Any) -> Issue:
    return Issue(**{"id": "1a2b", "description": "x", "state": "inprogress", "assignee": "Robo", **more})


def test_the_changes_are_a_comment_the_state_and_the_assignee() -> None:
    made = handback.changes(HandBack(to="rita", comment="Look."), issue(), "c1", ROBO)
    assert [type(change) for change in made] == [AddComment, SetState, SetAssignee]
    comment, state, assignee = made
    assert isinstance(comment, AddComment) and (comment.id, comment.text) == ("c1", "Look.")
    assert (state, assignee) == (SetState("1a2b", "blocked"), SetAssignee("1a2b", "rita"))


def test_what_is_there_already_is_not_changed_again() -> None:
    known = Comment(id="c1", author=str(ROBO), creation_time="", description="Look.")
    there = issue(state="blocked", assignee="rita", comments=(known,))
    assert handback.changes(HandBack(to="rita", comment="Look."), there, "c1", ROBO) == []


def test_nobody_left_means_no_assignee() -> None:
    made = handback.changes(HandBack(to=None, comment=""), issue(state="blocked"), "c1", ROBO)
    assert made == [SetAssignee("1a2b", None)]


def test_a_runs_comment_has_one_id_for_each_occasion() -> None:
    assert handback.comment_id("r") == handback.comment_id("r")
    assert len({handback.comment_id("r"), handback.comment_id("s"), handback.comment_id("r", "other")}) == 3
