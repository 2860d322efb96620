"""The built-in agent as `agent_type = "builtin"` of ent-agent: in its sandbox, read by its adapter."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ent_agent.records import Record
from ent_agent.running import running, runs
from harness.errors import NotLoggedIn, TryLater
from tests.support.bench import Bench
from tests.support.model_endpoint import Does, ModelEndpoint, refuses, says
from tests.support.sample import WELSH, Sample, configuration

KEY = "sk-the-key-of-the-model-1"


def worked(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch, base_url: str, more: str = ""
) -> Record:
    """One whole run on the Welsh issue, its model at `base_url`."""
    home = place / "agent home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        f'[providers.main]\nbase_url = {json.dumps(base_url)}\nmodel = "stand-in"\n'
        'api_key = "${MODEL_KEY}"\nmax_retries = 0\ninput_usd_per_million = 1.0\n'
    )
    monkeypatch.setenv("MODEL_KEY", KEY)
    extra = f'[agent_environment]\npass = ["MODEL_KEY"]\n{more}'
    keys = {"agent_type": "builtin", "agent_config_dir": str(home)}
    bench = Bench(sample, configuration(place, sample.url, extra, **keys))
    bench.start(WELSH)
    runs.update(bench.config, bench.run, phase="claimed")
    bench.record = running.run(bench.record, bench.config, lambda: None)
    with suppress(NotLoggedIn, TryLater):  # which it says of auth and quota, when all is written down
        bench.finalize()
    return bench.record


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command}


def test_it_works_on_an_issue_and_hands_it_back(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "echo Shwmae > welsh.txt && git add . && git commit -qm 'Greet in Welsh'"
    hand_back = (
        f"ent comment {WELSH} 'It says Shwmae.'; ent state {WELSH} done; env; echo key ${{MODEL_KEY:-none}}"
    )
    with ModelEndpoint(says("", bash(commit), bash(hand_back)), says("Done: it greets.")) as endpoint:
        record = worked(place, sample, monkeypatch, endpoint.url)
    assert record.run and record.result, record.error
    assert (record.run.exit_code, record.run.reported) == (0, "success"), record.run
    assert record.run.message == "Done: it greets."
    assert record.run.usage and record.run.usage.input_tokens == 200
    assert record.run.usage.cost_usd == pytest.approx(0.0002)
    assert record.result.outcome == "completed", record.result
    assert len(record.result.commits) == 1
    said = json.dumps(endpoint.requests)
    assert "Greet in Welsh" in said
    assert "key none" in said
    assert KEY not in said


@pytest.mark.parametrize(
    ("does", "reported"),
    [
        (refuses(401), "auth"),
        (refuses(429, Retry_After="3600"), "quota"),
        (refuses(500), "error"),
        (says("", bash("date +%N >> x")), "turn_limit"),
    ],
    ids=["auth", "quota", "error", "turn_limit"],
)
def test_how_it_failed_is_read_out_of_its_output(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch, does: Does, reported: str
) -> None:
    with ModelEndpoint(does) as endpoint:
        record = worked(place, sample, monkeypatch, endpoint.url, "[limits]\nmax_turns = 2\n")
    assert record.run and record.run.reported == reported
    if reported == "quota":
        assert record.run.resume_at


def test_the_scripted_model_works_there_too(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "agent home").mkdir()
    call = {"name": "write_file", "arguments": {"path": "welsh.txt", "content": "Shwmae\n"}}
    rules = [{"anywhere": ["Greet in Welsh"], "tool_calls": [call]}, {"last_role": "tool", "text": "Done."}]
    (place / "agent home/script.json").write_text(json.dumps({"rules": rules}))
    record = worked(place, sample, monkeypatch, "scripted:script.json")
    assert record.run and (record.run.reported, record.run.message) == ("success", "Done.")
