"""ent-agent's keys: the example has every one, and a value that cannot work is refused by name."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli

from ent_agent import config
from ent_agent.config import FORDJENT_NAMES, Config
from harness.errors import BadConfig
from tests.support.sample import configuration

EXAMPLE = Path(__file__).resolve().parents[2] / "config.toml.example"
NO_DEFAULTS = {"ssh_key_dir", "repo_url", "agent_name", "agent_email", "agent_config_dir", "agent_id"}


def keys(kind: Any, prefix: str = "") -> Iterator[str]:
    """Every key of a config type as it stands in the file, tables with a dot."""
    for field in msgspec.structs.fields(kind):
        if inspect.isclass(field.type) and issubclass(field.type, msgspec.Struct):
            yield from keys(field.type, f"{prefix}{field.encode_name}.")
        else:
            yield f"{prefix}{field.encode_name}"


def written(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from written(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def test_the_example_loads(place: Path) -> None:
    loaded = config.load(str(EXAMPLE))
    assert loaded.agent_name == "Robo"
    assert loaded.path == EXAMPLE


def test_the_example_has_every_key_with_its_default() -> None:
    document = tomli.loads(EXAMPLE.read_text(encoding="utf-8"))
    ours = dict(written({name: value for name, value in document.items() if name not in FORDJENT_NAMES}))
    assert set(ours) == set(keys(Config))
    defaults = msgspec.to_builtins(Config(ssh_key_dir="x", repo_url="x", agent_name="x", agent_email="x"))
    given = {key: value for key, value in ours.items() if key not in NO_DEFAULTS}
    assert given == {key: value for key, value in written(defaults) if key not in NO_DEFAULTS}


def test_the_example_has_every_table_of_the_other_system() -> None:
    document = tomli.loads(EXAMPLE.read_text(encoding="utf-8"))
    assert set(document) >= FORDJENT_NAMES


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("agent_id", "Robo", "agent_id: 'Robo' must be lower-case"),
        ("agent_id", "a..b", "agent_id"),
        ("agent_id", "a.lock", "agent_id"),
        ("agent_id", "-x", "agent_id"),
        ("agent_name", "Robo <x>", "agent_name: must not"),
        ("agent_name", "  ", "agent_"),
        ("agent_email", "a\\nb", "agent_email: must not"),
        ("claims_prefix", "claims/", "claims_prefix: must be like refs/"),
        ("claims_prefix", "refs/heads/x", "claims_prefix: must be like refs/"),
        ("repo_url", "https://me:secret@example.org/x.git", "repo_url: holds a password"),
        ("repo_url", "", "repo_url"),
        ("model", 3, "model: Expected `str`, got `int`"),
        ("modell", "x", "modell: unknown key"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(place: Path, key: str, value: object, says: str) -> None:
    line = f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
    six = {"ssh_key_dir": "k", "repo_url": "r", "agent_name": "Robo", "agent_email": "r@example.org"}
    six.pop(key, None)
    text = "\n".join([*(f'{name} = "{value}"' for name, value in six.items()), line])
    (place / "config.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig) as caught:
        config.load()
    assert says in caught.value.message
    assert "secret" not in caught.value.message


def test_folders_are_below_the_files_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/zoë")
    loaded = configuration(place, "r", ssh_key_dir="keys", state_dir="~/state", agent_config_dir="/abs")
    assert loaded.folder(loaded.ssh_key_dir) == place / "keys"
    assert loaded.folder(loaded.state_dir) == Path("/home/zoë/state")
    assert loaded.folder(loaded.agent_config_dir) == Path("/abs")


@pytest.mark.parametrize(
    ("assignee", "ours"),
    [
        ("robo", True),
        ("Robo", True),
        ("robo@example.org", True),
        ("Robo <robo@example.org>", True),
        ("bot", True),
        ("robo2", False),
        ("", False),
        (None, False),
    ],
)
def test_who_the_agent_is(place: Path, assignee: str | None, ours: bool) -> None:
    loaded = configuration(place, "r", 'assignee_aliases = ["bot", ""]')
    assert loaded.is_agent(assignee) is ours


def test_the_id_is_the_name_as_a_slug(place: Path) -> None:
    assert configuration(place, "r", agent_name="Zoë B. 2").id == "zoe-b-2"
    assert configuration(place, "r", agent_name="Zoë", agent_id="z").id == "z"
    with pytest.raises(BadConfig, match="agent_id"):
        configuration(place, "r", agent_name="☃")


def test_a_configuration_is_a_value(place: Path) -> None:
    loaded = configuration(place, "r")
    with pytest.raises((AttributeError, dataclasses.FrozenInstanceError)):
        loaded.model = "x"  # type: ignore[misc]
