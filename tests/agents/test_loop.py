"""Each agent CLI from `invoke loop` to the pushed branch, sandboxed where that works, with a scripted model."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ent_agent.config import load
from ent_agent.running import runs
from ent_agent.sample import ALICE
from harness import adapter, shipped
from tests.agents import homes
from tests.support.sample import WELSH, Sample, write_config
from tests.support.scripted_model import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, ScriptedModel, Turn

ROOT = Path(__file__).resolve().parents[2]
SETTLE: dict[str, Callable[[Path, str], dict[str, str]]] = {
    "hermes": homes.hermes,
    "codex": homes.codex,
    "claude": homes.claude,
    "opencode": homes.opencode,
    "pi": homes.pi,
    "mini": homes.mini,
    "gemini": homes.gemini,
    "hermes-acp": homes.hermes,
    "codex-acp": homes.codex,
    "claude-acp": homes.claude,
    "opencode-acp": homes.opencode,
    "gemini-acp": homes.gemini,
}
MODELS = {"gemini": "gemini-2.5-pro", "gemini-acp": "gemini-2.5-pro"}
WITHOUT_USAGE = ("codex-acp", "claude-acp", "opencode-acp", "gemini-acp")
WITHOUT_LOGIN = ("opencode-acp",)
"""Which cannot tell a refused key from another failure."""
WORK = (
    Turn(
        "I write the file.",
        "echo Helo > welsh.txt && git add welsh.txt && git commit --quiet -m 'Greet in Welsh'",
    ),
    Turn("I say so.", f"ent comment {WELSH} 'Done: there is a Welsh greeting.' && ent state {WELSH} blocked"),
    Turn("I hand it over.", f"ent assign {WELSH} {shlex.quote(str(ALICE))} && git status --porcelain"),
    Turn("Done: handed over."),
)
MINIS_WORK = (*WORK[:-1], Turn("Done: handed over.", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"))


def loop(config: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [
        sys.executable,
        "-m",
        "invoke",
        "-r",
        str(ROOT),
        "loop",
        "--config",
        str(config),
        "--issue",
        WELSH,
    ]
    return subprocess.run([*words, *options], capture_output=True, text=True, timeout=110, check=False)


def settled(place: Path, sample: Sample, cli: str, url: str) -> Path:
    """A config.toml for this agent, whose own home is set up for the model."""
    command = adapter.load(cli, [shipped.folder("agents")]).command[0]
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    home = place / "agent home"
    home.mkdir()
    variables = SETTLE[cli](home, url)
    lines = [f"{name} = {json.dumps(value)}" for name, value in variables.items()]
    environment = "\n".join(["[agent_environment.set]", *lines, ""])
    return write_config(place, sample.url, environment, agent_type=cli, model=MODELS.get(cli, ""))


@pytest.mark.agents
@pytest.mark.parametrize("cli", SETTLE)
def test_an_issue_is_worked_to_the_pushed_branch(place: Path, sample: Sample, cli: str) -> None:
    with ScriptedModel(MINIS_WORK if cli == "mini" else WORK) as model:
        config = settled(place, sample, cli, model.url)
        done = loop(config)
    assert done.returncode == 0, done.stderr
    assert sample.read("welsh.txt", f"robo/{WELSH}") == "Helo\n"
    assert sample.comments(WELSH) == ["Done: there is a Welsh greeting."]
    assert (sample.read(f"{WELSH}/state"), sample.read(f"{WELSH}/assignee")) == ("blocked", str(ALICE))
    assert "Greet in Welsh" in json.dumps(model.requests[0]), "the prompt reached the model"
    run = runs.record(runs.every(load(str(config)))[-1])
    assert run.result and run.result.outcome == "completed"
    assert run.run and run.run.message == "Done: handed over."
    usage, calls = run.run.usage, len(model.requests)
    if cli in WITHOUT_USAGE:
        return
    assert usage.input_tokens == calls * INPUT_TOKENS
    assert usage.cached_tokens == calls * CACHED_TOKENS
    assert usage.output_tokens == calls * OUTPUT_TOKENS


@pytest.mark.agents
@pytest.mark.parametrize("cli", [cli for cli in SETTLE if cli not in WITHOUT_LOGIN])
def test_a_refused_login_is_exit_code_77_and_costs_no_attempt(place: Path, sample: Sample, cli: str) -> None:
    with ScriptedModel(WORK, status=401) as model:
        config = settled(place, sample, cli, model.url)
        done = loop(config)
    assert done.returncode == 77, done.stdout + done.stderr
    assert sample.read(f"{WELSH}/assignee") == "Robo"
    assert sample.branches().keys() == {"main", "entomologist-data"}
