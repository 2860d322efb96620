"""A step that is started alone makes what it needs, and finds the issue that is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ent_agent import beginning
from ent_agent.config import Config, load
from ent_agent.records import Record
from ent_agent.running import runs
from harness.errors import BadData, TryLater
from tests.support import past
from tests.support.sample import BANNER, BY_NAME, SPELLING, WELSH, Sample

STEP = ("agent", "repository", "issue")
LATER = (*STEP, "worktree", "claim")


@pytest.fixture
def config(config_file: Path) -> Config:
    return load(str(config_file))


def only(config: Config, needs: tuple[str, ...], issue: str = "") -> Record:
    (record,) = beginning.records(config, needs, issue)
    return record


def test_who_the_agent_is_needs_nothing_else(config: Config) -> None:
    record = only(config, ("agent",))
    assert record.agent and record.agent.id == "robo"
    assert record.identity is None and record.repository is None


def test_a_first_start_makes_the_key_and_syncs(config: Config) -> None:
    record = only(config, ("agent", "repository"))
    assert record.identity and record.identity.created
    assert record.repository and record.repository.issues_head


def test_a_later_start_takes_the_last_sync_and_asks_nobody(config: Config, sample: Sample) -> None:
    first = only(config, ("agent", "repository")).repository
    shutil.rmtree(sample.origin)
    assert only(config, ("agent", "repository")).repository == first


def test_an_origin_that_is_not_there_is_for_later(config: Config, sample: Sample) -> None:
    shutil.rmtree(sample.origin)
    with pytest.raises(TryLater):
        only(config, ("agent", "repository"))


def test_an_issue_is_found_by_a_unique_prefix(config: Config) -> None:
    record = only(config, STEP, WELSH[:4])
    assert record.issue and record.issue.id == WELSH
    assert record.issue.title == "Greet in Welsh"


@pytest.mark.parametrize("issue", ["nothing", BANNER, BY_NAME])
def test_what_is_not_there_finished_or_somebody_elses_is_refused(config: Config, issue: str) -> None:
    with pytest.raises(BadData):
        only(config, STEP, issue)


def test_a_later_step_goes_on_with_the_run_that_was_begun(config: Config) -> None:
    past.run(config, WELSH)
    record = only(config, LATER, WELSH[:4])
    assert record.run and record.issue and record.issue.id == WELSH


def test_a_later_step_without_a_run_says_how_to_begin_one(config: Config) -> None:
    past.run(config, SPELLING, outcome="completed")
    with pytest.raises(BadData) as caught:
        only(config, LATER, SPELLING)
    assert "ent-agent-worktree --issue" in caught.value.hint


def test_a_prefix_of_two_begun_runs_is_refused(config: Config) -> None:
    past.run(config, "1a")
    past.run(config, "1b")
    with pytest.raises(BadData, match="several"):
        only(config, LATER, "1")
    assert runs.last(config, "1a")
