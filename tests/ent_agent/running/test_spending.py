"""What a run costs is counted while it runs, at its end, and after a kill; more than it may ends it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ent_agent.finalization import finalization
from ent_agent.finalization.outcome import Facts, judge
from ent_agent.running import running, runs, spending, workplace
from ent_agent.selection import attempts
from tests.support.bench import Bench
from tests.support.sample import WELSH, Sample, configuration

ADAPTER = """
command = ["./program"]
progress = ["stdout"]

[output]
format = "jsonl"
cost_usd = "cost"
input_tokens = "tokens"
"""
CALLS = 'echo \'{"cost": 0.3, "tokens": 10}\'; echo \'{"cost": 0.3, "tokens": 10}\''


def begun(place: Path, sample: Sample, script: str, limits: str = "") -> Bench:
    """A run whose agent is a shell script, and is to be started."""
    (place / "program").write_text(f"#!/bin/sh\n{script}\n")
    (place / "program").chmod(0o755)
    (place / "robot.toml").write_text(ADAPTER)
    extra = f'[limits]\nkill_grace = "1s"\n{limits}\n'
    bench = Bench(sample, configuration(place, sample.url, extra, agent_type="./robot.toml"))
    bench.start(WELSH)
    runs.update(bench.config, bench.run, phase="claimed")
    return bench


def test_a_run_that_spends_more_than_it_may_is_ended_and_is_a_failed_attempt(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "LOOK_SECONDS", 0.0)
    bench = begun(place, sample, f"{CALLS}; sleep 60", "max_cost_usd = 0.5")
    bench.record = running.run(bench.record, bench.config, lambda: None)
    assert bench.record.run and bench.record.run.ended_by == "budget"
    assert bench.record.run.usage.cost_usd == 0.6
    result = bench.finalize().result
    assert result and (result.outcome, result.reason) == ("turn_limit", "spent more than limits.max_cost_usd")
    assert attempts.of_issue(bench.config, WELSH).failed_attempts == 1


def test_within_its_limit_a_run_goes_on_to_its_end(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "LOOK_SECONDS", 0.0)
    bench = begun(place, sample, f"{CALLS}; sleep 2", "max_cost_usd = 0.7")
    done = running.run(bench.record, bench.config, lambda: None)
    assert done.run and (done.run.ended_by, done.run.exit_code) == ("exit", 0)


def test_without_a_limit_any_cost_is_fine(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "LOOK_SECONDS", 0.0)
    bench = begun(place, sample, f"{CALLS}; sleep 2")
    done = running.run(bench.record, bench.config, lambda: None)
    assert done.run and (done.run.ended_by, done.run.usage.cost_usd) == ("exit", 0.6)


def test_a_finished_agent_keeps_its_work_whatever_it_cost() -> None:
    verdict = judge(Facts(ended_by="budget", statement="done", handed_over=True))
    assert verdict.outcome == "completed"


def test_what_a_killed_run_had_spent_counts_for_the_day(place: Path, sample: Sample) -> None:
    bench = begun(place, sample, "true")
    bench.record = running.run(bench.record, bench.config, lambda: None)
    folder = workplace.folder(bench.config, bench.run)
    lines = [json.dumps({"cost": 0.25, "tokens": 7}) for _ in range(3)]
    folder.stdout.write_text("\n".join(lines) + '\n{"cost": 99, "tok')  # cut off by the kill
    runs.update(bench.config, bench.run, phase="running")
    [record] = finalization.pending(bench.config)
    bench.record = record
    done = bench.finalize()
    assert done.run and (done.run.usage.cost_usd, done.run.usage.input_tokens) == (0.75, 21)
    assert attempts.cost_today(attempts.of_agent(bench.config), time.time()) == 0.75
