from __future__ import annotations

from pathlib import Path

import pytest

from harness import adapter, placeholders, shipped
from harness.errors import BadConfig

SHIPPED = shipped.folder("agents")
MINIMAL = 'command = ["agent"]\n'


def write(folder: Path, text: str, name: str = "robot") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def fault(folder: Path, text: str) -> str:
    with pytest.raises(BadConfig) as refused:
        adapter.load("robot", [write(folder, text).parent])
    assert str(folder / "robot.toml") in refused.value.message, "the file must be named"
    return refused.value.message.removeprefix(f"{folder / 'robot.toml'}: ")


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_adapter_is_sound(path: Path) -> None:
    found = adapter.load(path.stem, [SHIPPED])
    assert found.path == path
    assert found.description


def test_an_adapter_of_ones_own_comes_before_the_shipped_one(place: Path) -> None:
    write(place / "own", MINIMAL, "hermes")
    assert adapter.load("hermes", [place / "own", SHIPPED]).command == ["agent"]
    assert adapter.load("codex", [place / "own", SHIPPED]).path == SHIPPED / "codex.toml"


def test_an_adapter_may_be_a_path(place: Path) -> None:
    path = write(place / "somewhere", MINIMAL)
    assert adapter.load(str(path), []).name == "robot"
    with pytest.raises(BadConfig, match="there is no file"):
        adapter.load(str(path.with_name("other.toml")), [])


@pytest.mark.parametrize("name", ["nobody", "../hermes", "", "her mes", "--help"])
def test_an_unknown_name_is_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(BadConfig) as refused:
        adapter.load(name, [SHIPPED])
    assert "agent_type" in refused.value.message
    assert "/" in name or "hermes" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "command: required, but not given"),
        ("command = []", "command: Expected `array` of length >= 1"),
        ('command = [""]', "command: the first word is the program"),
        (MINIMAL + 'promt = "stdin"', "promt: unknown key"),
        (MINIMAL + 'prompt = "telepathy"', "prompt: Invalid enum value 'telepathy'"),
        (MINIMAL + 'prompt = "argument"', "command: has no {prompt}"),
        (MINIMAL + 'prompt = "file"', "command: has no {prompt_file}"),
        ('command = ["agent", "{prompt}"]', 'command: has {prompt}, though prompt = "stdin"'),
        ('command = ["agent", "{worktre}"]', "command: unknown placeholder {worktre}"),
        (MINIMAL + 'model_args = ["{modell}"]', "model_args: unknown placeholder {modell}"),
        (MINIMAL + 'environment = { A = "{b}" }', "environment: unknown placeholder {b}"),
        (MINIMAL + 'progress = ["{config}/log"]', "progress: unknown placeholder {config}"),
        (MINIMAL + 'stop_signal = "SIGINT"', "stop_signal: 'SIGINT' is no signal"),
        (MINIMAL + 'protocol = "smoke"', "protocol: Invalid enum value 'smoke'"),
        (
            MINIMAL + 'environment = { "A=B" = "" }',
            "environment: 'A=B' is no name of an environment variable",
        ),
        (MINIMAL + 'config_dir_variable = "MY HOME"', "config_dir_variable: 'MY HOME' is no name"),
        (MINIMAL + '[failure]\nquota = ["("]', "failure.quota: '(' is no regular expression"),
        (MINIMAL + '[failure]\nresume_at = "at .*"', "failure.resume_at: must have exactly one group"),
        (MINIMAL + '[output]\nformat = "xml"', "output.format: Invalid enum value 'xml'"),
        (MINIMAL + '[output]\nmessage = "a"', 'output.message: needs output.format = "json" or "jsonl"'),
        (
            MINIMAL + '[output]\nformat = "json"\nerror = "a.["',
            "output.error: 'a.[' is no JMESPath expression",
        ),
        (MINIMAL + "[output]\ncost = 1", "output.cost: unknown key"),
        ('command = "agent"', "command: Expected `array`, got `str`"),
        ("command = [", "Invalid value (at end of document)"),
    ],
)
def test_a_fault_is_named_by_file_and_key(place: Path, text: str, message: str) -> None:
    assert message in fault(place / "own", text)


def test_a_placeholder_is_filled_in_one_pass_and_other_braces_stay() -> None:
    values = dict.fromkeys(placeholders.KNOWN, "") | {"model": "{worktree}", "worktree": "/w"}
    text = '{"a": {"m": "{model}"}} {{model}} {} {worktree}'
    assert placeholders.fill(text, values) == '{"a": {"m": "{worktree}"}} {model} {} /w'
