"""What cron and systemd get: absolute paths, a PATH that has everything, and quoting that holds."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from ent_agent.config import Config
from ent_agent.loop import cron
from harness import process
from harness.errors import Missing
from tests.support.sample import configuration

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def config(place: Path) -> Config:
    """An agent whose command is a script for an interpreter, each in a folder of its own."""
    for folder, name, text in (
        ("100% tools", "robot", "#!/usr/bin/env -S botscript -x\n"),
        ("lang", "botscript", ""),
    ):
        (place / folder).mkdir()
        (place / folder / name).write_text(text, "utf-8")
        (place / folder / name).chmod(0o755)
    (place / "robot.toml").write_text('command = ["robot"]\ninstall = "get robot"\n', "utf-8")
    return configuration(place, "origin.git", agent_type="./robot.toml")


def search_path(config: Config, *extra: str) -> str:
    usual = [str(Path(shutil.which(name) or "").parent) for name in ("git", "ssh")]
    return cron.search_path(config, ":".join([*extra, *usual]))


def test_path_has_the_agent_and_its_interpreter(config: Config, place: Path) -> None:
    found = search_path(config, str(place / "unused"), str(place / "100% tools"), str(place / "lang")).split(
        ":"
    )
    assert str(place / "100% tools") in found and str(place / "lang") in found
    assert str(place / "unused") not in found
    assert {"/usr/bin", "/bin"} <= set(found)
    assert len(found) == len(set(found))


def test_a_missing_agent_is_said_with_its_install_line(config: Config, place: Path) -> None:
    with pytest.raises(Missing) as caught:
        search_path(config, str(place / "lang"))
    assert "get robot" in caught.value.hint


def test_a_missing_interpreter_is_said(config: Config, place: Path) -> None:
    with pytest.raises(Missing, match="botscript"):
        search_path(config, str(place / "100% tools"))


def test_the_crontab_line_runs_under_an_empty_environment(config: Config, place: Path) -> None:
    """cron turns \\% into %, and gives the rest to sh with hardly any environment."""
    line = cron.crontab_line(config, place / "a root", 5, str(place / "100% tools"))
    fields, command = line[: line.index("PATH")], line[line.index("PATH") :]
    assert fields == "*/5 * * * * "
    assert "%" not in command.replace(r"\%", "")
    words = shlex.split(command.replace(r"\%", "%"))
    assert words[0] == f"PATH={place / '100% tools'}"
    assert words[3:5] == ["-m", "invoke"]
    assert words[words.index("--config") + 1] == str(config.path)
    shown = process.run(["sh", "-c", f"printf '%s\\n' {shlex.join(words[2:9])}"], env={})
    assert str(place / "a root") in shown.text.splitlines()


def test_every_minute_is_a_star(config: Config) -> None:
    assert cron.crontab_line(config, ROOT, 1, "/bin").startswith("* * * * * ")


def test_the_units_double_what_systemd_would_expand(config: Config, place: Path) -> None:
    units = cron.systemd_units(config, place / 'a $root "x"', 10, str(place / "100% tools"))
    service, timer = units["ent-agent-robo.service"], units["ent-agent-robo.timer"]
    assert 'a $$root \\"x\\"' in service
    assert f'Environment="PATH={place}/100%% tools"' in service
    assert "OnUnitInactiveSec=10min" in timer
    assert "KillMode=mixed" in service


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_systemd_takes_the_units(config: Config, place: Path) -> None:
    for name, content in cron.systemd_units(config, ROOT, 5, "/usr/bin:/bin").items():
        (place / name).write_text(content, "utf-8")
    checked = process.run(["systemd-analyze", "--user", "verify", place / "ent-agent-robo.timer"])
    complaints = [line for line in checked.error_text.splitlines() if "ent-agent-robo" in line]
    assert complaints == []
