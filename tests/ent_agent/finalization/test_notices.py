"""Whoever is to be notified is told once of each cause, whatever happens to the notifier or to us."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from ent_agent.finalization import finalization, notices
from ent_agent.running import runs
from harness.errors import NotLoggedIn, TryLater
from tests.support.bench import Bench
from tests.support.sample import SPELLING, WELSH, Sample, configuration


@pytest.fixture
def bench(place: Path, sample: Sample) -> Bench:
    """Its notifier appends each record to `told`."""
    return notified_by(place, sample, f"cat >> '{place}/told'")


def notified_by(place: Path, sample: Sample, script: str) -> Bench:
    command = json.dumps(["sh", "-c", script], ensure_ascii=False)
    return Bench(sample, configuration(place, sample.url, f"[notify]\ncommand = {command}\n"))


def run(bench: Bench, issue: str, **facts: Any) -> None:
    with contextlib.suppress(TryLater, NotLoggedIn):
        bench.whole(issue, **facts)


def told(place: Path) -> list[str]:
    path = place / "told"
    return [json.loads(line)["notice"] for line in path.read_text().splitlines()] if path.exists() else []


def test_a_login_that_is_needed_is_told_once_and_not_at_each_try(bench: Bench, place: Path) -> None:
    for _ in range(3):
        run(bench, WELSH, reported="auth")
    assert told(place) == ["login_needed"]


def test_a_quota_that_ends_during_it_is_told_too(bench: Bench, place: Path) -> None:
    for reported in ("auth", "quota", "auth", "quota"):
        run(bench, WELSH, reported=reported)
    assert told(place) == ["login_needed", "quota"]


def test_when_it_comes_back_after_a_good_run_it_is_told_again(bench: Bench, place: Path) -> None:
    run(bench, WELSH, reported="auth")
    run(bench, WELSH, message="Stuck: on it.")
    run(bench, SPELLING, reported="auth")
    assert told(place) == ["login_needed", "handed_over", "login_needed"]


def test_a_notice_that_a_kill_held_back_is_sent_by_the_next_start(bench: Bench, place: Path) -> None:
    run(bench, WELSH, message="Stuck: on it.")
    runs.update(bench.config, bench.run, notice="handed_over")  # as if killed right before it was sent
    assert list(finalization.pending(bench.config)) == []
    assert list(finalization.pending(bench.config)) == []
    assert told(place) == ["handed_over", "handed_over"]


def test_a_notifier_that_hangs_is_ended(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notices, "TIMEOUT_SECONDS", 0.5)
    started = time.monotonic()
    run(notified_by(place, sample, "sleep 60"), WELSH, message="Stuck: on it.")
    assert time.monotonic() - started < 30
    assert "notify.command: ended by its time limit" in capfd.readouterr().err
