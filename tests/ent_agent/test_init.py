"""`invoke init`: six lines that load, from flags or from answers, and nothing overwritten."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from ent_agent import setting_up
from ent_agent.config import load
from ent_agent.setting_up import Answers
from harness.errors import BadConfig, Usage
from tests.support.sample import Sample

ROOT = Path(__file__).resolve().parents[2]
GIVEN = Answers(repo_url="origin.git", agent_name="Zoë", agent_email="zoe@example.org")


def init(*flags: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "invoke", "-r", ROOT, "init", *flags],
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_flags_write_six_lines_that_load_and_show_the_key(place: Path, sample: Sample) -> None:
    ran = init(
        "--repo-url",
        sample.url,
        "--agent-name",
        "Zoë",
        "--agent-email",
        "zoe@example.org",
        "--agent-type=demo",
    )
    assert ran.returncode == 0, ran.stderr
    lines = [line for line in (place / "config.toml").read_text("utf-8").splitlines() if " = " in line]
    assert len(lines) == 6
    config = load()
    assert (config.agent_name, config.repo_url, config.agent_type) == ("Zoë", sample.url, "demo")
    assert (config.folder(config.ssh_key_dir) / "id_ed25519").exists()
    assert "ssh-ed25519 " in ran.stdout + ran.stderr
    assert "loop --dry-run" in ran.stdout


def test_without_a_terminal_what_is_missing_is_named_by_its_flag(place: Path) -> None:
    ran = init("--repo-url", "x")
    assert ran.returncode == 64
    assert "--agent-name" in ran.stderr
    assert not (place / "config.toml").exists()


def test_a_file_that_is_there_is_left_alone(place: Path) -> None:
    (place / "config.toml").write_text("mine", "utf-8")
    ran = init("--repo-url", "x", "--agent-name", "R", "--agent-email", "r@example.org")
    assert ran.returncode == 64 and "--force" in ran.stderr
    assert (place / "config.toml").read_text("utf-8") == "mine"


def test_force_replaces_it(place: Path) -> None:
    path = place / "config.toml"
    path.write_text("mine", "utf-8")
    with pytest.raises(Usage):
        setting_up.write(path, setting_up.complete(GIVEN, None))
    setting_up.write(path, setting_up.complete(GIVEN, None), force=True)
    assert load().agent_name == "Zoë"


def test_what_cannot_work_is_not_written(place: Path) -> None:
    wrong = setting_up.complete(Answers(repo_url="x", agent_name="<bad>", agent_email="e"), None)
    with pytest.raises(BadConfig) as caught:
        setting_up.write(place / "config.toml", wrong)
    assert str(place / "config.toml") in caught.value.message
    assert list(place.iterdir()) == []


def test_an_agent_that_there_is_no_adapter_for_is_refused_with_those_there_are(place: Path) -> None:
    ran = init("--repo-url=x", "--agent-name=R", "--agent-email=r@example.org", "--agent-type=hermess")
    assert ran.returncode == 78
    assert "no adapter 'hermess'" in ran.stderr and "codex" in ran.stderr
    assert list(place.iterdir()) == []


def test_what_is_shown_can_be_pasted_into_a_shell(place: Path) -> None:
    """With a name that shells and JSON would change, and a file that is not found by itself."""
    ran = init(
        "--repo-url=x",
        "--agent-name=Zoë $HOME",
        "--agent-type=demo",
        "--agent-email=r@example.org",
        "--config=other.toml",
        "--ssh-key-dir=key",
    )
    assert ran.returncode == 0, ran.stderr
    commands = [shlex.split(line) for line in ran.stdout.splitlines() if line.startswith("     ")]
    assert [Path(words[0]).name for words in commands][:2] == ["ent-agent-ent", "ent-agent-doctor"]
    assert commands[0][1:5] == ["assign", "ISSUE", "Zoë $HOME", "&&"]
    assert Path(commands[0][0]).is_absolute()  # it is called in another folder
    for words in commands:
        assert Path(words[0]).is_file()
    for words in commands[1:]:
        assert words[-2:] == ["--config", str(place / "other.toml")]


def test_odd_characters_survive(place: Path) -> None:
    odd = Answers(
        repo_url='a "b"\\c', agent_name="Zoë\tB", agent_email="z@example.org", agent_config_dir="é \\"
    )
    config = setting_up.write(place / "config.toml", setting_up.complete(odd, None))
    assert (config.repo_url, config.agent_name, config.agent_config_dir) == ('a "b"\\c', "Zoë\tB", "é \\")


def test_what_no_flag_gives_is_asked_for_with_a_default(place: Path) -> None:
    asked: dict[str, str] = {}

    def ask(question: str, default: str) -> str:
        asked[question] = default
        return "codex\n" if "agent CLI:" in question else "\n"

    answers = setting_up.complete(GIVEN, ask)
    assert answers.agent_type == "codex"
    assert answers.agent_config_dir == "~/.config/ent-agent/codex"
    assert len(asked) == 3


def test_on_a_terminal_the_questions_are_asked(place: Path) -> None:
    ours, theirs = os.openpty()
    os.write(ours, b"origin.git\nRobo\nrobo@example.org\ndemo\n\n\n")
    ran = init(stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert ran.returncode == 0, ran.stderr
    assert "agent's name" in ran.stderr
    document = tomli.loads((place / "config.toml").read_text("utf-8"))
    assert document["agent_type"] == "demo"
    assert document["ssh_key_dir"] == "~/.config/ent-agent/identity"
