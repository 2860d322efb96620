"""A value of config.toml that cannot work is refused at the start, by its key; the example has every key."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from fordjent import config
from harness.errors import BadConfig

EXAMPLE = (Path(__file__).resolve().parents[2] / "config.toml.example").read_text("utf-8")
FORDJENT = EXAMPLE.split("# ---- Fordjent", 1)[1]
CONFIG = """\
[webhook]
secret = "{secret}"
[forgejo]
url = "{url}"
token = "a-token"
[sessions]
{sessions}
[providers.main]
base_url = "{base_url}"
model = "none"
"""
SOUND = {
    "secret": "0123abcd",
    "url": "http://[::1]:3000",
    "sessions": "",
    "base_url": "http://127.0.0.1:1/v1",
}


def write(folder: Path, **given: str) -> str:
    path = folder / "config.toml"
    path.write_text(CONFIG.format(**(SOUND | given)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"secret": "   "}, "webhook.secret"),
        ({"url": "http://[::1"}, "forgejo.url"),
        ({"url": "http://127.0.0.1:99999"}, "forgejo.url"),
        ({"url": "http://127.0.0.1:3000/a b"}, "forgejo.url"),
        ({"url": "http://127.0.0.1:3000\\n"}, "forgejo.url"),
        ({"url": "forge.example.org"}, "forgejo.url"),
        ({"base_url": "api.openai.com/v1"}, "providers.main.base_url"),
        ({"sessions": 'reconcile_interval = "0s"'}, "sessions.reconcile_interval"),
        ({"sessions": 'idle_timeout = "0s"'}, "sessions.idle_timeout"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_its_key(place: Path, given: dict[str, str], key: str) -> None:
    with pytest.raises(BadConfig) as refused:
        config.load(write(place, **given))
    assert f"config.toml: {key}: " in refused.value.message


def test_sound_values_and_the_scripted_model_are_taken(place: Path) -> None:
    assert config.load(write(place)).forgejo.url == "http://[::1]:3000"
    assert config.load(write(place, base_url="scripted:model.json")).first_provider == "main"


@pytest.mark.parametrize(
    "table", [config.Server, config.Forgejo, config.State, config.Sessions, config.Agent, config.Provider,
              config.Role, config.Policy, config.Verify, config.Budget, config.Memory, config.Log]
)  # fmt: skip
def test_the_example_has_every_key_of_a_table(table: type[msgspec.Struct]) -> None:
    name = {"Provider": "providers.main", "Role": "roles.implementer"}.get(
        table.__name__, table.__name__.lower()
    )
    part = re.split(rf"^\[{re.escape(name)}\]", FORDJENT, flags=re.MULTILINE)[1].split("\n[", 1)[0]
    assert set(re.findall(r"^(\w+) *=", part, re.MULTILINE)) == set(table.__struct_fields__)
