"""Attempts, back-off, pauses and budget: rules as tables, and what a restart still knows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.config import Config
from ent_agent.selection import attempts
from ent_agent.selection.attempts import AgentFile, IssueFile, Start
from harness.clock import timestamp
from tests.support.sample import configuration

NOW = 1_900_000_000.0
T0, T1, T2, PERSONS = (letter * 40 for letter in "0123")


@pytest.fixture
def config(place: Path) -> Config:
    return configuration(
        place,
        "/nowhere",
        extra='[limits]\nbackoff = "1m"\nmax_runs_per_hour = 3\nmax_cost_usd_per_day = 10.0\n',
    )


# ---- rules


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 60), (2, 120), (3, 240), (8, 7680), (20, 86400), (10**6, 86400)]
)
def test_the_back_off_doubles_from_the_configured_one_up_to_a_day(
    config: Config, failures: int, seconds: float
) -> None:
    assert attempts.backoff_seconds(failures, config) == seconds


@pytest.mark.parametrize(
    ("known", "tree", "failures"),
    [
        (IssueFile(), T0, 0),
        (IssueFile(failed_attempts=2, own_trees=[T0]), T0, 2),
        (IssueFile(failed_attempts=2, own_trees=[T0, T1]), T0, 2),
        (IssueFile(failed_attempts=2, own_trees=[T0, T1]), PERSONS, 0),
    ],
)
def test_failures_count_until_a_person_changes_the_issue(known: IssueFile, tree: str, failures: int) -> None:
    assert attempts.failures(known, tree) == failures


@pytest.mark.parametrize(
    ("since_failure", "tree", "waits"),
    [
        (0, T0, True),
        (119, T0, True),
        (120, T0, False),
        (10_000, T0, False),
        (30, PERSONS, False),  # a person's word ends it
        (-86_400, T0, False),  # the clock was put back by a day: longer than it was ever made
        (-1, T0, True),
    ],
)
def test_the_back_off_ends(config: Config, since_failure: float, tree: str, waits: bool) -> None:
    known = IssueFile(failed_attempts=2, own_trees=[T0], not_before=timestamp(NOW + 120))
    until = attempts.waits_until(known, tree, NOW + since_failure, config)
    assert until == (timestamp(NOW + 120) if waits else "")


@pytest.mark.parametrize("damage", ["", "soon", "2030-99-99T00:00:00Z"])
def test_a_time_that_cannot_be_read_makes_nobody_wait(config: Config, damage: str) -> None:
    assert attempts.waits_until(IssueFile(failed_attempts=1, not_before=damage), T0, NOW, config) == ""
    assert attempts.pause(AgentFile(paused="quota", resume_at=damage, paused_at=damage), NOW) == ("", "")


@pytest.mark.parametrize(
    ("now", "kind"),
    [(NOW, "quota"), (NOW + 599, "quota"), (NOW + 600, ""), (NOW - 30, "quota"), (NOW - 3600, "")],
)
def test_a_pause_lasts_until_its_end_and_a_clock_put_back_ends_it(now: float, kind: str) -> None:
    known = AgentFile(paused="quota", paused_at=timestamp(NOW), resume_at=timestamp(NOW + 600))
    assert attempts.pause(known, now) == ((kind, timestamp(NOW + 600)) if kind else ("", ""))


def starts(*ages: float, cost_usd: float = 0.0) -> AgentFile:
    return AgentFile(
        starts=[
            Start(run=str(number), at=timestamp(NOW - age), cost_usd=cost_usd)
            for number, age in enumerate(ages)
        ]
    )


def test_no_more_runs_are_started_than_an_hour_may_have(config: Config) -> None:
    assert attempts.spent(starts(10, 20), NOW, config) == ""
    assert attempts.spent(starts(10, 20, 3700), NOW, config) == ""
    said = attempts.spent(starts(10, 20, 3500), NOW, config)
    assert "limits.max_runs_per_hour" in said and timestamp(NOW + 100) in said


def test_a_day_may_cost_what_is_configured(config: Config) -> None:
    assert attempts.spent(starts(4000, 5000, cost_usd=4.9), NOW, config) == ""
    assert "max_cost_usd_per_day: 10.00 of 10.00" in attempts.spent(
        starts(4000, 5000, cost_usd=5.0), NOW, config
    )
    assert attempts.spent(starts(80_000, 86_000, cost_usd=50.0), NOW, config) == ""  # yesterday's


def test_without_a_limit_any_cost_is_fine(place: Path) -> None:
    assert attempts.spent(starts(4000, cost_usd=1e6), NOW, configuration(place, "/nowhere")) == ""


# ---- what happened


def test_an_attempt_is_counted_before_the_agent_starts_and_once_per_run(config: Config) -> None:
    assert attempts.count_attempt(config, "1", "run1", T0, NOW) == 0
    assert attempts.count_attempt(config, "1", "run1", T0, NOW) == 0
    known = attempts.of_issue(config, "1")
    assert (known.failed_attempts, known.counted_run, known.last_run) == (1, "run1", "run1")
    assert [start.run for start in attempts.of_agent(config).starts] == ["run1"]


def test_a_failure_begins_the_back_off_and_the_next_doubles_it(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    assert attempts.record_failure(config, "1", "run1", NOW) == 1
    assert attempts.of_issue(config, "1").not_before == timestamp(NOW + 60)
    assert attempts.count_attempt(config, "1", "run2", T0, NOW + 60) == 1
    assert attempts.record_failure(config, "1", "run2", NOW + 100) == 2
    assert attempts.of_issue(config, "1").not_before == timestamp(NOW + 220)


def test_recording_a_failure_again_changes_nothing(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    attempts.record_failure(config, "1", "run1", NOW)
    assert attempts.record_failure(config, "1", "run1", NOW + 1000) == 1
    assert attempts.of_issue(config, "1").not_before == timestamp(NOW + 60)


def test_an_attempt_that_was_not_the_agents_fault_is_given_back_once(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    attempts.record_failure(config, "1", "run1", NOW)
    attempts.count_attempt(config, "1", "run2", T0, NOW)
    for _ in range(2):
        attempts.give_back(config, "1", "run2")
    assert attempts.of_issue(config, "1").failed_attempts == 1


def test_success_starts_the_count_anew_and_ends_a_pause(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    attempts.record_failure(config, "1", "run1", NOW)
    attempts.pause_agent(config, "quota", NOW)
    attempts.count_attempt(config, "1", "run2", T0, NOW)
    attempts.record_success(config, "1", "run2")
    known = attempts.of_issue(config, "1")
    assert (known.failed_attempts, known.not_before, known.counted_run) == (0, "", "")
    assert attempts.of_agent(config).pauses == 0


def test_what_we_publish_ourselves_is_no_persons_change(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    attempts.note_publication(config, "1", before=T0, after=T1)
    attempts.note_publication(config, "1", before=T1, after=T2)
    attempts.record_failure(config, "1", "run1", NOW)
    assert attempts.failures(attempts.of_issue(config, "1"), T2) == 1


def test_a_publication_that_never_arrived_is_no_persons_change_either(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    attempts.note_publication(config, "1", before=T0, after=T1)
    assert attempts.failures(attempts.of_issue(config, "1"), T0) == 1


def test_a_person_who_writes_during_the_run_resets_the_count_to_this_run(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    attempts.record_failure(config, "1", "run1", NOW)
    attempts.count_attempt(config, "1", "run2", T0, NOW)
    attempts.note_publication(config, "1", before=PERSONS, after=T1)
    assert attempts.record_failure(config, "1", "run2", NOW) == 1


def test_a_hand_back_is_remembered_by_what_it_left(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    attempts.note_publication(config, "1", before=T0, after=T1, handed_back=True)
    assert attempts.of_issue(config, "1").handed_back_tree == T1


def test_only_so_many_trees_are_remembered(config: Config) -> None:
    for number in range(60):
        attempts.note_publication(config, "1", before=f"{number:040}", after=f"{number + 1:040}")
    assert len(attempts.of_issue(config, "1").own_trees) == attempts.REMEMBERED_TREES


def test_a_pause_without_a_known_end_grows_each_time(config: Config) -> None:
    lengths = []
    for _ in range(6):
        until = attempts.pause_agent(config, "auth", NOW)
        lengths.append(round(datetime.fromisoformat(until).timestamp() - NOW))
    assert lengths == [900, 1800, 3600, 7200, 7200, 7200]


@pytest.mark.parametrize(
    ("told", "pause_seconds"),
    [
        (timestamp(NOW + 63), 63),
        (timestamp(NOW + 5 * 86400), 5 * 86400),
        (timestamp(NOW + 400 * 86400), 8 * 86400),
        (timestamp(NOW - 10), 900),
        ("tomorrow", 900),
    ],
)
def test_the_end_that_the_agent_names_is_believed_within_reason(
    config: Config, told: str, pause_seconds: int
) -> None:
    until = attempts.pause_agent(config, "quota", NOW, told)
    assert datetime.fromisoformat(until).timestamp() - NOW == pause_seconds
    assert attempts.pause(attempts.of_agent(config), NOW) == ("quota", until)


def test_the_cost_of_a_run_counts_once_however_often_it_is_said(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    attempts.count_attempt(config, "2", "run2", T0, NOW)
    for _ in range(3):
        attempts.record_cost(config, "run1", 2.5)
    attempts.record_cost(config, "run2", 1.0)
    assert attempts.cost_today(attempts.of_agent(config), NOW) == 3.5


def test_starts_of_yesterday_are_forgotten(config: Config) -> None:
    for number in range(5):
        attempts.count_attempt(config, "1", f"old{number}", T0, NOW - 90_000)
    attempts.count_attempt(config, "1", "new", T0, NOW)
    assert [start.run for start in attempts.of_agent(config).starts] == ["new"]


def test_a_file_that_was_cut_off_is_as_if_it_were_not_there(config: Config) -> None:
    attempts.count_attempt(config, "1", "run1", T0, NOW)
    state.of(config).issue_file("1").write_text('{"failed_att')
    assert attempts.of_issue(config, "1") == IssueFile()


def test_any_id_of_an_issue_has_a_file_of_its_own(config: Config) -> None:
    ids = ["1a", "A/1", "A_1", "a_1", "../../etc", "é x", "x" * 300, ".."]
    for number, issue in enumerate(ids):
        attempts.count_attempt(config, issue, f"run{number}", T0, NOW)
    found = attempts.of_issues(config, ids)
    assert [found[issue].last_run for issue in ids] == [f"run{number}" for number in range(len(ids))]
    files = list(state.of(config).root.rglob("*.json"))
    assert len(files) == len(ids) + 1  # and the agent's own
