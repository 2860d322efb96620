"""config.toml: where it is looked for, how values are expanded, and what a wrong one says."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from harness import config
from harness.config import Duration
from harness.errors import BadConfig


class Limits(msgspec.Struct, forbid_unknown_fields=True):
    timeout: Duration = "2h"
    tries: int = 3


class Mine(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    backend: Literal["auto", "none"] = "auto"
    limits: Limits = msgspec.field(default_factory=Limits)
    secret_scan: config.SecretScan = config.SecretScan()


def take(text: str, place: Path, others: frozenset[str] = frozenset()) -> Mine:
    path = place / "config.toml"
    path.write_text(text, encoding="utf-8")
    return config.take(path, config.read(path), Mine, others)


@pytest.mark.parametrize(
    ("written", "seconds"), [("90s", 90), ("45m", 2700), ("1h30m", 5400), ("2d", 172800), ("250ms", 0.25)]
)
def test_lengths_of_time(written: str, seconds: float) -> None:
    assert config.seconds(written) == seconds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nmae = 'x'\nname = 'y'", "nmae: unknown key"),
        ("name = 'x'\n[limits]\ntimeuot = '1s'", "limits.timeuot: unknown key"),
        ("name = 3", "name: Expected `str`, got `int`"),
        ("name = 'x'\n[limits]\ntries = 'many'", "limits.tries: Expected `int`, got `str`"),
        ("name = 'x'\n[secret_scan]\nallow = ['AKIA']", "secret_scan.allow[0]: Expected a fingerprint"),
        ("name = 'x'\n[limits]\ntimeout = '2 hours'", 'limits.timeout: Expected a length of time like "90s"'),
        ("name = 'x'\nbackend = 'docker'", "backend: Invalid enum value 'docker'"),
        ("backend = 'auto'", "name: required, but not given"),
        ("name = 'x'\nname = ]", "line 2"),
        ("name = '${NOT_THERE}'", "name: the variable NOT_THERE is not set"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(place: Path, text: str, says: str) -> None:
    with pytest.raises(BadConfig) as caught:
        take(text, place)
    assert says in caught.value.message
    assert str(place / "config.toml") in caught.value.message
    assert caught.value.exit_code == 78


def test_bytes_that_are_no_text_are_said(place: Path) -> None:
    (place / "config.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(BadConfig, match="utf-8"):
        config.read(place / "config.toml")


def test_variables_are_expanded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHO", "Zoë $HOME ${HOME}")
    assert take("name = '${WHO} ${NOBODY:-else} $$5 $WHO'", place).name == "Zoë $HOME ${HOME} else $5 $WHO"


def test_the_other_systems_tables_are_left_alone(place: Path) -> None:
    text = "name = 'x'\n[other]\ntoken = '${NOT_THERE}'\nunknown = 1"
    assert take(text, place, frozenset({"other"})).name == "x"


def test_the_places_are_tried_in_order(place: Path) -> None:
    home, named, xdg = place / "home", place / "named.toml", place / "xdg"
    for path in (
        named,
        place / "config.toml",
        home / ".config/ent-agent/config.toml",
        xdg / "ent-agent/config.toml",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    environ = {"HOME": str(home), "ENT_AGENT_CONFIG": str(named)}
    given = place / "given.toml"
    given.touch()
    assert config.locate(str(given), environ) == given
    assert config.locate(None, environ) == named
    del environ["ENT_AGENT_CONFIG"]
    assert config.locate(None, environ) == place / "config.toml"
    (place / "config.toml").unlink()
    assert config.locate(None, environ) == home / ".config/ent-agent/config.toml"
    assert config.locate(None, {**environ, "XDG_CONFIG_HOME": str(xdg)}) == xdg / "ent-agent/config.toml"


def test_a_named_file_that_is_missing_does_not_fall_back(place: Path) -> None:
    (place / "config.toml").touch()
    with pytest.raises(BadConfig, match=r"nowhere\.toml not found"):
        config.locate("nowhere.toml", {})
    with pytest.raises(BadConfig, match=r"nowhere\.toml not found"):
        config.locate(None, {"ENT_AGENT_CONFIG": "nowhere.toml"})
