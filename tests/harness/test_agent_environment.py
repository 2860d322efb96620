from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness import agent_environment
from harness.errors import BadConfig
from harness.git import Person

CALLER = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/alice",
    "LANG": "de_DE.UTF-8",
    "LC_NUMERIC": "de_DE.UTF-8",
    "HTTPS_PROXY": "http://proxy.example.org:3128",
    "SSH_AUTH_SOCK": "/tmp/ssh-x/agent.1",
    "GIT_DIR": "/home/alice/other/.git",
    "GITHUB_TOKEN": "ghp_x",
    "FORGEJO_TOKEN": "x",
    "CLAUDECODE": "1",
    "CODEX_SANDBOX": "seatbelt",
    "HERMES_KANBAN_TASK": "7",
    "ENT_RUN_ID": "outer",
    "OPENAI_API_KEY": "sk-x",
    "AWS_SECRET_ACCESS_KEY": "x",
}


def test_only_what_is_listed_or_named_passes() -> None:
    got = agent_environment.inherited(CALLER, ["OPENAI_API_KEY", "NOT_SET"], "config.toml: pass")
    kept = {"PATH", "HOME", "LANG", "LC_NUMERIC", "HTTPS_PROXY", "OPENAI_API_KEY"}
    assert got == {name: CALLER[name] for name in kept}


@pytest.mark.parametrize(
    "name",
    [
        "SSH_AUTH_SOCK",
        "GIT_DIR",
        "GIT_CONFIG_COUNT",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_ENTERPRISE_TOKEN",
        "FORGEJO_TOKEN",
        "GITLAB_TOKEN",
        "CI_JOB_TOKEN",
        "ENT_RUN_ID",
    ],
)
def test_what_could_push_is_refused_also_by_name(name: str) -> None:
    with pytest.raises(BadConfig, match=f"config.toml: pass: {name} is never passed"):
        agent_environment.inherited(CALLER, [name], "config.toml: pass")


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        ({}, {"LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8"}),
        ({"LANG": "C"}, {"LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8"}),
        ({"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, {"LC_ALL": "C.UTF-8", "LANG": "en_GB.UTF-8"}),
        ({"LANG": "en_GB.UTF-8"}, {"LANG": "en_GB.UTF-8"}),
    ],
)
def test_the_locale_is_utf8_where_cron_has_none(caller: dict[str, str], expected: dict[str, str]) -> None:
    got = agent_environment.inherited(caller, [], "")
    assert got == {"PATH": agent_environment.FALLBACK_PATH, **expected}


def own(place: Path) -> dict[str, str]:
    person = Person("Robo Ä", "robo@example.org")
    return {"PATH": "/usr/bin:/bin"} | agent_environment.own(
        person=person, folders=[place / "worktrees"], temporary=place
    )


def git(place: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *args], cwd=place, env=own(place) | env, capture_output=True, text=True, check=False
    )


def test_git_commits_as_the_agent_unsigned_and_without_an_editor(place: Path) -> None:
    home = place / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname=Alice\nemail=a@b\n[commit]\ngpgSign=true\n[credential]\nhelper=store\n"
    )
    (home / ".git-credentials").write_text("https://alice:secret@example.org\n")
    assert git(place, "init", "-q", HOME=str(home)).returncode == 0
    done = git(place, "commit", "--allow-empty", "--message", "First", HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert git(place, "log", "-1", "--format=%an <%ae>").stdout == "Robo Ä <robo@example.org>\n"
    assert git(place, "commit", "--allow-empty", "--amend", HOME=str(home)).returncode == 0, (
        "an editor was asked"
    )
    asked = subprocess.run(
        ["git", "credential", "fill"],
        cwd=place,
        env=own(place) | {"HOME": str(home)},
        input="protocol=https\nhost=example.org\n\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "secret" not in asked.stdout and asked.returncode != 0


def test_git_does_not_take_a_repository_around_the_worktrees(place: Path) -> None:
    """Without its .git a worktree would be a part of the person's own repository around it."""
    assert git(place, "init", "-q").returncode == 0
    inside = place / "worktrees/1"
    inside.mkdir(parents=True)
    found = subprocess.run(
        ["git", "rev-parse", "--git-dir"],
        cwd=inside,
        env=own(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "not a git repository" in found.stderr
