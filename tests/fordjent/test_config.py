"""A value of config.toml that cannot work is refused at the start, by its key; the example has every key."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from fordjent import config
from fordjent.context import open_database
from fordjent.models.models import Models
from fordjent.sessions.cli_agents import adapter_of
from harness.errors import BadConfig

EXAMPLE = (Path(__file__).resolve().parents[2] / "config.toml.example").read_text("utf-8")
FORDJENT = EXAMPLE.split("# ---- Fordjent", 1)[1]
CONFIG = """\
[webhook]
secret = "{secret}"
[forgejo]
url = "{url}"
token = "{token}"
[sessions]
{sessions}
[providers.main]
base_url = "{base_url}"
model = "none"
{more}
"""
SOUND = {
    "secret": "0123abcd",
    "url": "http://[::1]:3000",
    "token": "a-token",
    "sessions": "",
    "more": "",
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
        ({"token": "  "}, "forgejo.token"),
        ({"token": "one\\ntwo"}, "forgejo.token"),
        ({"more": '[roles.pm]\ntoken = "a b"'}, "roles.pm.token"),
        ({"more": '[roles.pm]\nprompt = "fordjent/nothing.md.j2"'}, "roles.pm.prompt"),
        ({"more": '[roles.pm]\nprompt = "../prompts/fordjent/pm.md.j2"'}, "roles.pm.prompt"),
        ({"more": '[state]\ndatabase = "postgresql://localhost/f"'}, "state.database"),
        ({"more": '[state]\ndatabase = "sqlite:///:memory:"'}, "state.database"),
        ({"more": '[state]\ndatabase = "fordjent.db"'}, "state.database"),
        ({"more": '[providers.spare]\nmodel = "x"'}, "providers.spare.base_url"),
        (
            {"more": '[providers.spare]\nmodel = "x"\nbase_url = "http://h"\nmax_tokens = "many"'},
            "providers.spare.max_tokens",
        ),
        (
            {"more": '[providers."a.b"]\nmodel = "x"\nbase_url = "http://h"\ncolour = 1'},
            "providers.a.b.colour",
        ),
        ({"more": "[roles.pm]\n[roles.tester]\nmax_turns = -1"}, "roles.tester.max_turns"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_its_key(place: Path, given: dict[str, str], key: str) -> None:
    with pytest.raises(BadConfig) as refused:
        config.load(write(place, **given))
    assert f"config.toml: {key}: " in refused.value.message


def test_a_template_of_ones_own_folder_is_taken(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine/pm.md.j2").write_text("Be brief.")
    path = Path(write(place, more='[roles.pm]\nprompt = "pm.md.j2"'))
    with pytest.raises(BadConfig, match=r"roles\.pm\.prompt"):
        config.load(str(path))
    path.write_text(f'prompts_dir = "mine"\n{path.read_text("utf-8")}', "utf-8")
    assert config.load(str(path)).roles["pm"].prompt == "pm.md.j2"


def test_a_script_that_is_not_there_is_told_by_file_and_key(place: Path) -> None:
    found = config.load(write(place, base_url="scripted:nothing.json"))
    with pytest.raises(BadConfig) as refused:
        Models(found, str)
    assert f"{found.path}: providers.main.base_url: " in refused.value.message


def test_an_agent_that_is_none_and_a_database_that_cannot_be_opened_are_told_by_file_and_key(
    place: Path,
) -> None:
    (place / "is-a-folder.db").mkdir()
    database = f'[state]\ndatabase = "sqlite:///{place}/is-a-folder.db"'
    found = config.load(write(place, sessions='agent_type = "nobody"', more=database))
    with pytest.raises(BadConfig) as refused:
        adapter_of(found)
    assert f"{found.path}: sessions.agent_type: " in refused.value.message
    with pytest.raises(BadConfig) as failed:
        open_database(found)
    assert f"{found.path}: state: {place}/is-a-folder.db: " in failed.value.message


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
    assert set(re.findall(r"^(?:# )?(\w+) *=", part, re.MULTILINE)) == set(table.__struct_fields__)
