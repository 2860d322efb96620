"""Selection on a real tracker: what is listed, in which order, and what is known besides it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from ent_agent import records, state
from ent_agent.config import Config
from ent_agent.records import Record
from ent_agent.repositories import repositories, syncing
from ent_agent.selection import attempts, pausing, selection
from ent_agent.tracker.model import Issue
from harness import lock, process
from harness.clock import timestamp
from harness.errors import BadData, Busy
from tests.support import big_tracker
from tests.support.sample import (
    BANNER,
    BROKEN,
    BY_NAME,
    GOODBYE,
    KLINGON,
    NOBODYS,
    SPELLING,
    WELSH,
    Sample,
    configuration,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def config(place: Path, sample: Sample) -> Config:
    config = configuration(place, sample.url)
    syncing.sync(Record(), config)
    return config


def chosen(config: Config, **options: object) -> list[Record]:
    return list(selection.select(Record(), config, **options))  # type: ignore[arg-type]


def ready(config: Config, **options: object) -> list[str]:
    return [record.issue.id for record in chosen(config, **options) if record.issue]


def why(config: Config, issue: str) -> str | None:
    return {one.issue.id: one.skipped for one in chosen(config, everything=True) if one.issue}[issue]


def tree(config: Config, issue: str) -> str:
    found = repositories.control(config).resolve(f"{config.data_ref}:{issue}")
    assert found
    return found


def test_what_is_ready_comes_in_working_order(config: Config) -> None:
    assert ready(config) == [SPELLING, WELSH]


def test_with_all_what_is_passed_over_is_listed_too_with_the_reason(config: Config) -> None:
    found = {one.issue.id: one.skipped for one in chosen(config, everything=True) if one.issue}
    assert list(found) == [SPELLING, GOODBYE, WELSH, BROKEN]
    assert found[SPELLING] is None and found[WELSH] is None
    assert found[GOODBYE] == f"waits for {WELSH} (new)"
    assert found[BROKEN] and "cannot be read: state" in found[BROKEN]


def test_finished_and_other_peoples_issues_are_not_listed(config: Config) -> None:
    assert not {BY_NAME, KLINGON, BANNER, NOBODYS} & set(ready(config, everything=True))


def test_a_record_has_the_whole_issue(config: Config) -> None:
    (record,) = chosen(config, issue=SPELLING)
    issue = record.issue
    assert issue and issue.title == "Which spelling?" and issue.description.endswith("Reviewer: bob")
    assert (issue.state, issue.assignee) == ("blocked", "robo@example.org")
    assert [comment.description for comment in issue.comments] == ["British spelling, please."]
    assert issue.reviewer == "bob" and issue.handler and "Alice" in issue.handler


def test_the_limit_counts_what_is_to_be_worked(config: Config) -> None:
    assert ready(config, limit=1) == [SPELLING]
    assert ready(config, limit=0) == []
    assert ready(config, limit=2, everything=True)[:3] == [SPELLING, GOODBYE, WELSH]


def test_an_issue_is_named_by_a_unique_prefix(config: Config, sample: Sample) -> None:
    assert ready(config, issue=WELSH[:6]) == [WELSH]
    assert ready(config, issue=GOODBYE[:6]) == []
    for nothing in ("feed", BY_NAME[:4] + "x"):
        with pytest.raises(BadData, match="not found") as caught:
            ready(config, issue=nothing)
        assert "ent-agent-sync" in caught.value.hint
    with pytest.raises(BadData, match="not found") as caught:
        ready(config, issue=WELSH[:3])
    assert "4 characters" in caught.value.hint
    sample.add(
        Issue(id=WELSH[:30] + "ff", description="Nearly the same", creation_time="2026-01-01T00:00:00Z")
    )
    syncing.sync(Record(), config)
    with pytest.raises(BadData, match="ambiguous"):
        ready(config, issue=WELSH[:10])


def test_what_the_record_brought_is_passed_on_and_no_record_changes_another(config: Config) -> None:
    came = records.decode(b'{"foo": {"bar": 1}, "identity": {"key": "k", "public_key": "p", "new": 2}}')
    lines = [records.encode(one) for one in selection.select(came, config, everything=True)]
    assert len(lines) == 4 and all(b'"foo":{"bar":1}' in line and b'"new":2' in line for line in lines)
    assert came.issue is None and came.skipped is None


def test_without_an_entomologist_branch_there_is_nothing(place: Path, sample: Sample) -> None:
    sample.git.update_ref("refs/heads/entomologist-data", None)
    config = configuration(place, sample.url)
    assert ready(config) == []  # not even synced
    syncing.sync(Record(), config)
    assert ready(config) == []
    with pytest.raises(BadData, match="no issues yet"):
        ready(config, issue="1111")


def test_the_agent_is_meant_by_each_of_its_names(place: Path, sample: Sample) -> None:
    spellings = ("robo", "Robo", "robo@example.org", "Robo <robo@example.org>", "the robot")
    for number, name in enumerate((*spellings, "ROBO", "robot", "")):
        sample.add(
            Issue(id=f"{number:032}", description="x", assignee=name, creation_time="2020-01-01T00:00:00Z")
        )
    path = configuration(place, sample.url).path
    path.write_text('assignee_aliases = ["the robot"]\n' + path.read_text())
    from ent_agent.config import load

    config = load(str(path))
    syncing.sync(Record(), config)
    assert {issue for issue in ready(config) if issue.startswith("0")} == {f"{n:032}" for n in range(5)}


# ---- what this state folder knows


def test_a_back_off_holds_up_and_a_persons_change_ends_it(config: Config, sample: Sample) -> None:
    now = time.time()
    attempts.count_attempt(config, WELSH, "run1", tree(config, WELSH), now)
    attempts.record_failure(config, WELSH, "run1", now)
    assert "waits after a failed attempt" in (why(config, WELSH) or "")
    sample.change({f"{WELSH}/tags/easy": b""})
    syncing.sync(Record(), config)
    assert why(config, WELSH) is None


def test_failed_attempts_are_told_until_a_person_changes_the_issue(config: Config, sample: Sample) -> None:
    attempts.count_attempt(config, WELSH, "run1", tree(config, WELSH), time.time())
    assert [one.issue.attempts for one in chosen(config, issue=WELSH) if one.issue] == [1]
    sample.change({f"{WELSH}/tags/easy": b""})
    syncing.sync(Record(), config)
    assert [one.issue.attempts for one in chosen(config, issue=WELSH) if one.issue] == [0]


def test_our_own_hand_back_is_not_taken_up_again(config: Config, sample: Sample) -> None:
    attempts.note_publication(config, WELSH, before="0" * 40, after=tree(config, WELSH), handed_back=True)
    assert "was handed back" in (why(config, WELSH) or "")
    sample.change({f"{WELSH}/comments/1/description": b"Go on.", f"{WELSH}/comments/1/author": b"A <a@x>"})
    syncing.sync(Record(), config)
    assert "was handed back" not in (why(config, WELSH) or "")


def test_what_another_process_works_on_is_passed_over(config: Config) -> None:
    with lock.held(state.of(config).issue_lock(WELSH)):
        assert why(config, WELSH) == "is being worked by another process"
        with pytest.raises(Busy):
            selection.pick(Record(), config, WELSH)
    assert why(config, WELSH) is None


def test_another_hosts_claim_is_respected(place: Path, config: Config, sample: Sample) -> None:
    from ent_agent.claims.claims import Claim
    from ent_agent.running import runs

    (place / "host2").mkdir()
    other = configuration(place / "host2", sample.url)
    syncing.sync(Record(), other)
    run = runs.create(other, WELSH)
    with lock.held(state.of(other).issue_lock(WELSH)):
        Claim.take(other, repositories.control(other), WELSH, run)
    syncing.sync(Record(), config)
    assert "is in work on" in (why(config, WELSH) or "")


def test_a_branch_that_somebody_has_checked_out_elsewhere_is_left_alone(config: Config, place: Path) -> None:
    git = repositories.work(config)
    main = repositories.control(config).resolve("refs/remotes/origin/main")
    git.update_ref(f"refs/heads/robo/{WELSH}", main)
    mine = place / "my own"
    words = ["git", "-C", state.of(config).work, "worktree", "add", mine, f"robo/{WELSH}"]
    assert process.run(words).ok
    assert why(config, WELSH) == f"its branch is checked out at {mine}"


def test_quota_login_limits_and_a_persons_pause_hold_up_everything(config: Config) -> None:
    attempts.pause_agent(config, "quota", time.time(), timestamp(time.time() + 3600))
    assert "out of quota, until" in (why(config, WELSH) or "") and ready(config) == []
    attempts.pause_agent(config, "auth", time.time())
    assert "needs a login" in (why(config, WELSH) or "")
    attempts.lift_pause(config)
    for number in range(config.limits.max_runs_per_hour):
        attempts.count_attempt(config, SPELLING, f"run{number}", tree(config, SPELLING), time.time())
    assert "max_runs_per_hour" in (why(config, WELSH) or "")
    pausing.pause(config, 60, "lunch")
    assert "lunch" in (why(config, WELSH) or "")


def test_a_person_who_names_an_issue_need_not_wait(config: Config) -> None:
    attempts.pause_agent(config, "quota", time.time())
    for issue in (GOODBYE, WELSH):
        picked = selection.pick(Record(), config, issue[:8])
        assert picked.issue and picked.issue.id == issue and picked.skipped is None


@pytest.mark.parametrize(
    ("issue", "code"),
    [(BY_NAME, "not_open"), (BANNER, "not_assigned"), (NOBODYS, "not_assigned"), (BROKEN, "bad_data")],
)
def test_but_gets_only_what_is_the_agents_to_work(config: Config, issue: str, code: str) -> None:
    with pytest.raises(BadData) as failed:
        selection.pick(Record(), config, issue)
    assert (failed.value.code, failed.value.exit_code) == (code, 65)


def test_a_circle_over_other_peoples_issues_is_told(config: Config, sample: Sample) -> None:
    sample.change({f"{WELSH}/dependencies/{BANNER}": b"", f"{BANNER}/dependencies/{WELSH}": b""})
    syncing.sync(Record(), config)
    assert why(config, WELSH) == f"its dependencies go in a circle: {WELSH} -> {BANNER} -> {WELSH}"


def test_a_comment_that_cannot_be_read_stops_only_its_own_issue(config: Config, sample: Sample) -> None:
    sample.change({f"{WELSH}/comments/1/description": b"\xff\xfe"})
    syncing.sync(Record(), config)
    assert "cannot be read" in (why(config, WELSH) or "")
    assert ready(config) == [SPELLING]


@pytest.mark.parametrize("issue", ["A/1".replace("/", "_"), "ABC", "é x", "a.lock", "..x", "-rf", "x" * 200])
def test_issues_of_any_name_are_listed(config: Config, sample: Sample, issue: str) -> None:
    sample.add(Issue(id=issue, description="Odd", assignee="robo", creation_time="2020-01-01T00:00:00Z"))
    syncing.sync(Record(), config)
    assert why(config, issue) is None


# ---- fast


def test_a_cold_start_chooses_among_many_issues_in_little_time_and_memory(place: Path) -> None:
    """A fifth of what the next test measures, in seconds of the processor: other work on the machine does not count."""
    big_tracker.make(place / "big", 2000)
    config = configuration(place, str(place / "big"), agent_name="hermes")
    syncing.sync(Record(), config)
    words = [str(ROOT / "bin/ent-agent-select"), "--limit", "1", "--config", str(config.path)]
    before = os.times()
    ran = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    after = os.times()
    assert records.decode(ran.stdout).issue
    cpu_seconds = after.children_user + after.children_system - before.children_user - before.children_system
    assert cpu_seconds < 0.8


@pytest.mark.skipif(
    "ENT_AGENT_BENCH" not in os.environ, reason="a benchmark, for a quiet machine: set ENT_AGENT_BENCH"
)
def test_among_10_000_issues_a_cold_select_takes_less_than_450_ms(place: Path) -> None:
    big_tracker.make(place / "big", 10_000)
    config = configuration(place, str(place / "big"), agent_name="hermes")
    syncing.sync(Record(), config)
    words = [str(ROOT / "bin/ent-agent-select"), "--limit", "1", "--config", str(config.path)]
    times = []
    for _ in range(5):
        (state.of(config).root / "tracker.cache").unlink(missing_ok=True)
        started = time.monotonic()
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        times.append(time.monotonic() - started)
    assert min(times) < 0.45, times
