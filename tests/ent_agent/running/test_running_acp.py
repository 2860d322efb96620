"""Agents that speak the Agent Client Protocol, run as an issue's agent is: sandboxed and not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ent_agent.records import EndedBy, RunSection, Usage
from ent_agent.running import running, runs, workplace
from harness import sandbox, sweeping
from tests.support.bench import Bench
from tests.support.sample import WELSH, Sample, configuration

STAND_INS = Path(__file__).resolve().parents[2] / "support/agents"
BACKENDS = ["none"] if sandbox.choose("auto").name == "none" else ["none", "bwrap"]


def begun(place: Path, sample: Sample, agent: str, backend: str = "none", limits: str = "") -> Bench:
    extra = f'[limits]\nkill_grace = "8s"\n{limits}\n[sandbox]\nbackend = "{backend}"\n'
    config = configuration(place, sample.url, extra, agents_dir=str(STAND_INS), agent_type=agent)
    bench = Bench(sample, config)
    bench.start(WELSH)
    runs.update(config, bench.run, phase="claimed")
    return bench


def ran(bench: Bench, answer: EndedBy | None = None) -> RunSection:
    """The run; `answer` is what the watch says as soon as the agent uses a tool."""
    transcript = workplace.folder(bench.config, bench.run).stdout

    def watch() -> EndedBy | None:
        return answer if answer and b'"tool_call"' in transcript.read_bytes() else None

    done = running.run(bench.record, bench.config, watch).run
    assert done
    return done


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_runs_like_any_other_agent(place: Path, sample: Sample, backend: str) -> None:
    bench = begun(place, sample, "acp", backend)
    section = ran(bench)
    assert (section.exit_code, section.ended_by, section.reported) == (0, "exit", "success")
    assert section.message == "Done: hello.txt is there."
    assert section.usage == Usage(input_tokens=1000, output_tokens=70, cached_tokens=200, cost_usd=0.0125)
    assert section.sandbox == backend
    assert (Path(bench.record.worktree.path) / "hello.txt").exists()  # type: ignore[union-attr]


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_is_stopped_through_the_protocol(place: Path, sample: Sample, backend: str) -> None:
    bench = begun(place, sample, "acp-waits", backend)
    section = ran(bench, "cancelled")
    assert (section.exit_code, section.ended_by, section.reported) == (130, "cancelled", "error")
    assert section.message == "Stopped."
    lines = Path(section.transcript).read_bytes().splitlines()
    assert json.loads(lines[-1])["stop_reason"] == "cancelled"
    assert sweeping.marked(bench.run.id) == []


def test_its_turns_are_limited_by_the_configuration(place: Path, sample: Sample) -> None:
    assert ran(begun(place, sample, "acp-loops", limits="max_turns = 3")).reported == "turn_limit"


def test_that_it_is_not_logged_in_is_found(place: Path, sample: Sample) -> None:
    assert ran(begun(place, sample, "acp-login")).reported == "auth"
