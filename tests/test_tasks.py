"""The checkout as a person meets it: tasks from anywhere, commands by path, the Makefile, pip install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from tests.support.sample import WELSH

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / "bin"
COMMANDS = sorted(path.name for path in BIN.iterdir() if path.is_file() and path.suffix != ".py")
PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))
BARE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}


def invoke(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A task, called from the current folder."""
    return subprocess.run(
        [sys.executable, "-m", "invoke", "-r", ROOT, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=100,
        check=False,
    )


def test_the_promised_tasks_are_there(place: Path) -> None:
    listed = invoke("--list").stdout
    for task in ("setup", "init", "demo", "loop", "status", "cron", "test", "lint", "test-agents"):
        assert re.search(rf"^  {task} +\S", listed, re.MULTILINE), task


def test_the_loop_has_the_promised_options(place: Path) -> None:
    shown = invoke("--help", "loop").stdout
    for option in ("--once", "--forever", "--interval", "--jobs", "--dry-run", "--issue", "--config"):
        assert option in shown


def test_a_task_from_another_folder_takes_that_folders_configuration(config_file: Path) -> None:
    ran = invoke("loop", "--dry-run", "--text")
    assert ran.returncode == 0, ran.stderr
    assert "would work on: Greet in Welsh" in ran.stdout


@pytest.mark.parametrize(
    ("words", "exit_code", "says"),
    [
        (["loop"], 78, "no configuration"),
        (["loop", "--config", "nowhere.toml"], 78, "nowhere.toml"),
        (["status"], 78, "no configuration"),
        (["cron"], 78, "no configuration"),
    ],
)
def test_a_failure_is_said_in_a_sentence_with_its_exit_code(
    place: Path, words: list[str], exit_code: int, says: str
) -> None:
    ran = invoke(*words)
    assert ran.returncode == exit_code
    assert says in ran.stderr + ran.stdout
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--once", "--forever"],
        ["--interval", "soon"],
        ["--jobs", "-1"],
        ["--jobs", "two"],
        ["--interval", "-5"],
    ],
)
def test_options_that_make_no_sense_are_usage_errors(config_file: Path, words: list[str]) -> None:
    assert invoke("loop", *words).returncode == 64


def test_cron_prints_a_line_and_the_units(config_file: Path) -> None:
    ran = invoke("cron", "--minutes", "7")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^\*/7 \* \* \* \* PATH=", ran.stdout, re.MULTILINE)
    assert str(config_file) in ran.stdout and "OnUnitInactiveSec=7min" in ran.stdout


@pytest.mark.parametrize("minutes", ["0", "60", "-5", "few"])
def test_cron_refuses_minutes_that_an_hour_has_not(config_file: Path, minutes: str) -> None:
    ran = invoke("cron", f"--minutes={minutes}")
    assert (ran.returncode, ran.stdout) == (64, "")


def test_the_crontab_line_works_with_no_other_environment(config_file: Path, clean_environment: Path) -> None:
    """As cron runs it: sh, no PATH to speak of, another folder; the log gets the loop's JSON lines."""
    line = next(line for line in invoke("cron").stdout.splitlines() if " PATH=" in line)
    command = line.split("* * * * ", 1)[1].replace("\\%", "%").replace(" loop ", " loop --dry-run ", 1)
    ran = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"HOME": str(clean_environment)},
        cwd="/",
        capture_output=True,
        timeout=100,
    )
    (log,) = config_file.parent.glob("state/*/*/loop.log")
    assert ran.returncode == 0, log.read_text()
    assert '"event":"would_work"' in log.read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs_by_its_path_alone_and_shows_an_example(place: Path, command: str) -> None:
    shown = subprocess.run([BIN / command, "--help"], env=BARE, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0, shown.stderr
    assert re.search(rf"(?i)example.*{command}|{command}.*", shown.stdout, re.DOTALL)
    assert "xample" in shown.stdout
    version = subprocess.run(
        [BIN / command, "--version"], env=BARE, capture_output=True, text=True, timeout=60
    )
    assert version.returncode == 0 and re.search(r"\d+\.\d+", version.stdout)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "ent-agent-ent"])
def test_every_command_refuses_a_wrong_option_with_64_on_stderr(place: Path, command: str) -> None:
    ran = subprocess.run([BIN / command, "--nonsense"], env=BARE, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (64, "")
    assert '"code":"usage"' in ran.stderr


def test_the_checkout_and_pip_install_have_the_same_commands() -> None:
    assert sorted(PROJECT["project"]["scripts"]) == COMMANDS


def test_every_package_is_installed() -> None:
    found = {
        ".".join(path.parent.relative_to(ROOT / "lib").parts) for path in (ROOT / "lib").rglob("__init__.py")
    }
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    assert listed - {"harness.agents", "harness.prompts"} == found


def test_the_locks_are_hashed_name_no_host_and_hold_every_dependency() -> None:
    for name, groups in (("requirements.txt", []), ("requirements-dev.txt", ["dev"])):
        text = (ROOT / name).read_text("utf-8")
        assert "://" not in text
        locked = re.findall(r"^([a-z0-9-]+)==\S+.*\\$", text, re.MULTILINE)
        assert len(locked) == len(re.findall(r"^[a-z0-9]", text, re.MULTILINE))
        wanted = [*PROJECT["project"]["dependencies"]]
        for group in groups:
            wanted += PROJECT["project"]["optional-dependencies"][group]
        names = {re.split(r"[<>=!~ ]", one)[0].lower() for one in wanted}
        assert names <= set(locked)


def test_a_missing_debian_package_is_named_with_the_line_that_installs_it(place: Path) -> None:
    tools = place / "tools"
    tools.mkdir()
    for name in ("python3", "sh", "make", "test", "touch", "git"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    shutil.copy(ROOT / "Makefile", place)
    (place / "requirements-dev.txt").touch()
    ran = subprocess.run(
        [str(tools / "make"), "setup"],
        cwd=place,
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode != 0
    assert "ssh-keygen is missing; install: apt-get install openssh-client" in ran.stderr


@pytest.mark.timeout(300)
def test_pip_install_gives_working_commands(place: Path, clean_environment: Path) -> None:
    """Installed beside the checkout (its dependencies are .venv's), with adapters and prompts."""
    source = place / "source"
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    target = place / "installed"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*pip, "--target", target, source], check=True, timeout=280)
    shutil.rmtree(source)
    env = {**BARE, "HOME": str(clean_environment), "PYTHONPATH": str(target)}
    for command in COMMANDS:
        shown = subprocess.run([target / "bin" / command, "--help"], env=env, capture_output=True, timeout=60)
        assert shown.returncode == 0, shown.stderr
    script = (
        "from harness import shipped; from pathlib import Path;"
        "a, p = shipped.folder('agents'), shipped.folder('prompts');"
        "print((a / 'hermes.toml').is_file(), any(p.glob('*.j2')), str(a).startswith(str(Path.cwd())))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60
    )
    assert found.stdout == "True True True\n", found.stderr
    for name in (name for name in tracked.decode().split("\0") if name.startswith("agents/")):
        installed = target / "harness" / name
        assert os.access(installed, os.X_OK) == os.access(ROOT / name, os.X_OK), name


def test_an_issue_can_be_worked_from_anywhere_by_its_prefix(config_file: Path) -> None:
    ran = invoke("loop", "--dry-run", "--text", "--issue", WELSH[:4])
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("would work") == 1
