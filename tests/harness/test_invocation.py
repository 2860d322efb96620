from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from harness import adapter, invocation, shipped
from harness.adapter import Adapter
from harness.errors import BadConfig, Missing
from harness.invocation import Invocation, Setting

PATH = os.environ["PATH"]
STAND_INS = Path(__file__).resolve().parents[1] / "support/agents"


def own(place: Path, text: str) -> Adapter:
    path = place / "robot.toml"
    path.write_text(text, encoding="utf-8")
    return adapter.load(str(path), [])


def setting(place: Path, prompt: str = "Do it.", **more: object) -> Setting:
    values = {
        "prompt": prompt,
        "prompt_file": place / "run" / "prompt.md",
        "worktree": place / "work tree",
        "git_dir": place / "git",
        "git_common_dir": place / "common",
        "config_dir": place / "home",
        "run_dir": place / "run",
        "issue_id": "1a2b",
    }
    return Setting(**(values | more))  # type: ignore[arg-type]


def prepare(place: Path, text: str, prompt: str = "Do it.", **more: object) -> Invocation:
    return invocation.prepare(own(place, text), setting(place, prompt, **more), PATH)


def test_a_prompt_on_stdin_is_a_file_that_only_we_may_read(place: Path) -> None:
    invoked = prepare(place, 'command = ["cat"]', "Grüße, \udcff")
    assert invoked.stdin and invoked.stdin.read_bytes() == "Grüße, ?".encode()
    assert stat.S_IMODE(invoked.stdin.stat().st_mode) == 0o600
    assert invoked.argv[1:] == []


def test_a_prompt_as_argument_is_one_word_whatever_is_in_it(place: Path) -> None:
    prompt = "$(touch x) `id` \"' {worktree}\n-rf"
    invoked = prepare(place, 'command = ["printf", "%s", "--q={prompt}"]\nprompt = "argument"', prompt)
    assert subprocess.run(invoked.argv, capture_output=True, check=True).stdout.decode() == f"--q={prompt}"
    assert invoked.stdin is None


@pytest.mark.parametrize("letters", ["x", "ß"])
def test_a_prompt_that_argv_cannot_hold_is_left_in_its_file(place: Path, letters: str) -> None:
    text = 'command = ["cat", "{prompt}"]\nprompt = "argument"\nlarge_prompt = "Read {prompt_file}!"'
    fits = letters * (invocation.ARGUMENT_BYTES // len(letters.encode()))
    assert prepare(place, text, fits).argv[1] == fits
    assert prepare(place, text, fits + letters).argv[1] == f"Read {place / 'run/prompt.md'}!"
    assert (place / "run/prompt.md").read_text("utf-8") == fits + letters


def test_a_prompt_file_is_named(place: Path) -> None:
    invoked = prepare(place, 'command = ["cat", "--task={prompt_file}"]\nprompt = "file"')
    assert invoked.argv[1] == f"--task={place / 'run/prompt.md'}"
    assert invoked.stdin is None


def test_model_and_turn_limit_are_passed_only_when_there_is_one(place: Path) -> None:
    text = """
    command = ["cat", "-p", "--", "{prompt}"]
    prompt = "argument"
    model_args = ["--model", "{model}"]
    max_turns_args = ["--turns={max_turns}"]
    """
    assert prepare(place, text).argv[1:] == ["-p", "--", "Do it."]
    both = prepare(place, text, model="big", max_turns=7)
    assert both.argv[1:] == ["-p", "--model", "big", "--turns=7", "--", "Do it."]


def test_what_the_child_gets_is_what_the_adapter_says(place: Path) -> None:
    """The whole of it, as a program sees it: words, stdin, variables."""
    echoes = adapter.load("echoes", [STAND_INS])
    invoked = invocation.prepare(echoes, setting(place, "Hello", model="m", max_turns=3), PATH)
    assert invoked.stdin
    with invoked.stdin.open("rb") as stdin:
        ran = subprocess.run(
            invoked.argv,
            stdin=stdin,
            env={"PATH": PATH, **invoked.variables},
            capture_output=True,
            check=True,
        )
    got = json.loads(ran.stdout)
    assert got["argv"] == ["--model", "m", "--max-turns", "3"]
    assert got["stdin"] == "Hello"
    assert got["env"]["STAND_IN_HOME"] == str(place / "home")
    assert got["env"]["STAND_IN_WORKTREE"] == str(place / "work tree")
    assert got["env"]["STAND_IN_RUN"] == str(place / "run")


@pytest.mark.parametrize("name", ["hermes", "codex", "claude"])
def test_the_shipped_adapters_pass_model_and_folder(
    place: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "bin").mkdir()
    (place / "bin" / name).touch(mode=0o755)
    shipped_one = adapter.load(name, [shipped.folder("agents")])
    invoked = invocation.prepare(shipped_one, setting(place, model="big"), f"{place / 'bin'}:{PATH}")
    assert invoked.argv[0] == str(place / "bin" / name)
    assert "big" in invoked.argv
    assert str(place / "home") in invoked.variables.values()
    assert (invoked.stdin is None) == (name == "hermes")


def test_a_missing_program_is_named_with_the_line_that_installs_it(place: Path) -> None:
    text = 'command = ["no-such-agent"]\ninstall = "pipx install agent"'
    with pytest.raises(Missing) as missing:
        prepare(place, text)
    assert missing.value.exit_code == 69
    assert "no-such-agent is not installed" in missing.value.message
    assert "pipx install agent" in missing.value.hint


def test_a_program_whose_interpreter_is_missing_says_so(place: Path) -> None:
    """Field case: cron's PATH has the agent's CLI, but not the node that runs it."""
    script = place / "agent"
    script.write_text("#!/usr/bin/env no-such-node\n")
    script.chmod(0o755)
    with pytest.raises(Missing, match="needs no-such-node, which is not on PATH"):
        prepare(place, 'command = ["./agent"]')


def test_a_program_may_lie_beside_its_adapter_but_nowhere_relative(place: Path) -> None:
    script = place / "agent"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert prepare(place, 'command = ["./agent"]').argv == [str(script)]
    with pytest.raises(BadConfig, match="must be a name on PATH"):
        prepare(place, 'command = ["bin/agent"]')
