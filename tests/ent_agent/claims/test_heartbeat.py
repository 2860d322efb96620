"""The heartbeat of a run: renews, publishes with it, and says when the run must stop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ent_agent.claims import heartbeat as heartbeats
from ent_agent.claims.claims import Claim
from ent_agent.claims.heartbeat import Heartbeat
from ent_agent.sample import DATA, commit_files
from ent_agent.tracker.writer import SetAssignee, SetState
from harness import clock
from tests.support.bench import Bench
from tests.support.sample import SPELLING, WELSH, Sample, configuration


@pytest.fixture
def bench(place: Path, sample: Sample) -> Bench:
    made = Bench(sample, configuration(place, sample.url, '[loop]\ninterval = "1ms"\n'))
    made.start(WELSH)
    return made


@pytest.fixture
def beating(bench: Bench) -> Heartbeat:
    return Heartbeat(Claim.resume(bench.config, bench.control, bench.run), bench.config)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A renewal is due at each look."""
    with monkeypatch.context() as patched:
        patched.setattr(heartbeats, "RENEWAL_SECONDS", 0.0)
        yield


def test_the_first_beat_shows_people_that_the_issue_is_in_progress(bench: Bench, beating: Heartbeat) -> None:
    before = bench.claims()
    assert beating.watch() is None
    assert bench.on_origin() == ("inprogress", "Robo")
    assert bench.claims().keys() == before.keys() and bench.claims() != before


def test_nothing_is_asked_of_origin_when_nothing_is_due(
    bench: Bench, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.config = configuration(place, bench.sample.url)
    beating = Heartbeat(Claim.resume(bench.config, bench.control, bench.run), bench.config)
    beating.watch()
    monkeypatch.setenv("PATH", "/nowhere")
    for _ in range(100):
        assert beating.watch() is None


@pytest.mark.usefixtures("often")
def test_comments_are_published_while_the_agent_works_state_and_assignee_are_not(
    bench: Bench, beating: Heartbeat
) -> None:
    bench.comment("Half-way there.")
    bench.ent(SetState(WELSH, "blocked"), SetAssignee(WELSH, "carol"))
    assert beating.watch() is None
    assert bench.comments() == ["Half-way there."]
    assert bench.on_origin() == ("inprogress", "Robo")


@pytest.mark.usefixtures("often")
def test_what_a_person_changes_meanwhile_is_not_overwritten_by_the_next_beat(
    bench: Bench, beating: Heartbeat
) -> None:
    beating.watch()
    bench.sample.change({f"{WELSH}/state": b"backlog", f"{WELSH}/description": b"Greet in Breton"})
    bench.comment("Still at it.")
    assert beating.watch() is None
    assert bench.on_origin() == ("backlog", "Robo")
    assert bench.sample.read(f"{WELSH}/description") == "Greet in Breton"
    bench.comment("And on.")
    beating.watch()
    assert bench.on_origin() == ("backlog", "Robo")
    assert sorted(bench.comments()) == ["And on.", "Still at it."]


@pytest.mark.usefixtures("often")
def test_a_persons_state_stands_against_the_runs_own_whatever_their_clock_says(
    bench: Bench, beating: Heartbeat
) -> None:
    early = int(time.time()) - 3600
    commit_files(bench.sample.git, DATA, {f"{WELSH}/state": b"backlog"}, "Later", timestamp=early)
    for text in ("Begun.", "Still at it."):
        bench.comment(text)
        assert beating.watch() is None
        assert bench.on_origin() == ("backlog", "Robo")
    assert sorted(bench.comments()) == ["Begun.", "Still at it."]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({f"{WELSH}/assignee": b"alice"}, "is assigned to alice"),
        ({f"{WELSH}/assignee": None}, "is assigned to nobody"),
        ({f"{WELSH}/state": b"done"}, "is done"),
        ({f"{WELSH}/state": b"wontdo"}, "is wontdo"),
    ],
)
def test_an_issue_that_is_not_ours_any_more_cancels_the_run(
    bench: Bench, beating: Heartbeat, change: dict[str, bytes | None], why: str
) -> None:
    assert beating.watch() is None
    bench.sample.change(change)
    assert beating.watch() == "cancelled"
    assert beating.why == why


def test_another_spelling_of_the_agent_or_another_issues_change_cancels_nothing(
    bench: Bench, beating: Heartbeat
) -> None:
    bench.sample.change({f"{WELSH}/assignee": b"robo@example.org", f"{SPELLING}/state": b"done"})
    assert beating.watch() is None


def test_an_entry_that_a_person_broke_for_a_moment_cancels_nothing(bench: Bench, beating: Heartbeat) -> None:
    bench.sample.change({f"{WELSH}/state": b"in progress"})
    assert beating.watch() is None


def test_a_claim_that_was_taken_over_stops_the_run(bench: Bench, beating: Heartbeat) -> None:
    beating.watch()
    bench.sample.git.update_ref(f"refs/ent-agent/claims/{WELSH}", bench.sample.git.resolve("refs/heads/main"))
    assert beating.watch() == "claim_lost"


def test_a_dead_remote_is_borne_until_three_quarters_of_the_ttl(
    bench: Bench, beating: Heartbeat, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert beating.watch() is None
    bench.sample.origin.rename(place / "away")
    assert beating.watch() is None
    began = clock.now()
    later = clock.Moment(
        boot_id=began.boot_id,
        monotonic_seconds=began.monotonic_seconds,
        boot_seconds=began.boot_seconds + 676,
        wall_seconds=began.wall_seconds,
    )
    monkeypatch.setattr(clock, "now", lambda: later)
    assert beating.watch() == "claim_lost"


@pytest.mark.usefixtures("often")
def test_a_tracker_line_that_the_agent_broke_does_not_end_its_claim(bench: Bench, beating: Heartbeat) -> None:
    work = bench.control.git_dir.parent / "work.git"
    ref = work / bench.run.line_ref
    ref.write_text("not an object id\n")
    assert beating.watch() is None
    assert bench.on_origin() == ("inprogress", "Robo")


@pytest.mark.usefixtures("often")
def test_where_the_data_branch_moves_the_claim_is_renewed_all_the_same(
    bench: Bench, beating: Heartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Claim.renew

    def renew(claim: Claim, *together: object) -> bool:
        if together:
            bench.sample.change({f"{SPELLING}/tags/moved": b""})
        return real(claim, *together)  # type: ignore[arg-type]

    monkeypatch.setattr(Claim, "renew", renew)
    before = bench.claims()
    assert beating.watch() is None
    assert bench.claims() != before
    assert bench.sample.git.text("log", "-1", "--format=%s", DATA) == "Change issues"
    monkeypatch.undo()


def test_without_claims_the_runs_changes_are_published_too(place: Path, sample: Sample) -> None:
    hook = sample.origin / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/ent-agent/*) exit 1;; esac\n')
    hook.chmod(0o755)
    bench = Bench(sample, configuration(place, sample.url))
    bench.start(WELSH)
    beating = Heartbeat(Claim.resume(bench.config, bench.control, bench.run), bench.config)
    assert beating.watch() is None
    assert bench.on_origin() == ("inprogress", "Robo")
