"""docs/fordjent.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fordjent import config as configuration
from fordjent.config import ROLES as NAMES
from fordjent.config import Config
from fordjent.gates.pull_requests import GATES
from fordjent.models.scripted import Script
from fordjent.roles.roles import ONLY_BY_NAME, ROLES
from fordjent.sessions.states import ALLOWED
from fordjent.tools.registry import TOOLS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/fordjent.md").read_text("utf-8")


def block(language: str) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


def test_the_configuration_of_the_set_up_works(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORDJENT_WEBHOOK_SECRET", "FORGEJO_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, f"a-value-of-{name}")
    (place / "config.toml").write_text(block("toml"), encoding="utf-8")
    assert configuration.load().first_provider == "main"


def test_the_script_of_a_model_works() -> None:
    assert len(msgspec.json.decode(block("json"), type=Script).rules) == 3


def test_roles_states_and_gates_are_those_that_there_are() -> None:
    assert {row[0] for row in rows("Roles")} == set(ROLES) == set(NAMES)
    for name, label, tags, turns, _ in rows("Roles"):
        role = ROLES[name]
        assert (f"`{role.label}`", str(role.max_turns)) == (label, turns)
        assert tuple(re.findall(r"`(.+?)`", tags)) == role.title_tags
    assert {row[0] for row in rows("Sessions")} == set(ALLOWED)
    section = PAGE.split("\n## Gates\n", 1)[1].split("\n## ", 1)[0]
    assert re.findall(r"^\d\. \*\*(\w+)\*\*", section, re.MULTILINE) == [name for name, _ in GATES]


def test_commands_tools_and_keys_that_are_named_exist() -> None:
    for command in set(re.findall(r"`(fordjent-[a-z]+)\b", PAGE)):
        assert (ROOT / "bin" / command).is_file(), command
    for tool in set(re.findall(r"`(forgejo_\w+)`", PAGE)):
        assert tool in TOOLS, tool
    assert all(f"`{tool}`" in PAGE for tool in ONLY_BY_NAME)
    for row in rows("From another configuration"):
        for key in re.findall(r"`([a-z_<>]+(?:\.[a-z_<>]+)+)`", row[1]):
            assert has(Config, key.split(".")), key


def has(of: Any, names: list[str]) -> bool:
    for name in names:
        if name.startswith("<"):
            continue
        fields = {field.name: field.type for field in msgspec.structs.fields(of)}
        if name not in fields:
            return False
        of = fields[name]
        of = getattr(of, "__args__", (None, of))[-1] if str(of).startswith("dict") else of
    return True
