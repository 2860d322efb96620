"""The agent's key: made once, found by any name, refused with the way out."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ent_agent.config import Config
from ent_agent.repositories import identity
from harness import process
from harness.errors import BadConfig, Missing
from tests.support.sample import configuration

ODD = """clés d'un "robot" 100% $HOME"""


@pytest.fixture
def config(place: Path) -> Config:
    return configuration(place, "git@example.org:team/project.git")


@pytest.fixture
def keys(place: Path) -> Path:
    folder = place / "identity"
    folder.mkdir(mode=0o700)
    return folder


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "", comment: str = "by hand") -> None:
    more = ["-b", "2048"] if kind == "rsa" else []
    words = ["ssh-keygen", "-q", "-t", kind, *more, "-N", passphrase, "-C", comment, "-f", path]
    assert process.run(words).ok


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_an_empty_folder_gets_an_ed25519_pair_of_its_own(
    config: Config, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = identity.ensure(config)
    key = place / "identity/id_ed25519"
    assert made.created and made.key == str(key)
    assert (mode(key.parent), mode(key), mode(key.with_suffix(".pub"))) == (0o700, 0o600, 0o644)
    assert made.public_key == key.with_suffix(".pub").read_text().strip()
    assert made.public_key.startswith("ssh-ed25519 ") and made.public_key.endswith(" robo@example.org")
    said = capsys.readouterr().err
    assert made.public_key in said and "git@example.org:team/project.git" in said


def test_the_pair_is_made_once(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    first = identity.ensure(config)
    capsys.readouterr()
    second = identity.ensure(config)
    assert not second.created and second.public_key == first.public_key
    assert capsys.readouterr().err == ""


def test_two_that_start_at_once_make_one_pair(config: Config) -> None:
    program = f"from ent_agent import config; from ent_agent.repositories import identity; print(identity.ensure(config.load({str(config.path)!r})).public_key)"
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=env) for _ in range(4)
    ]
    assert len({child.communicate()[0] for child in started}) == 1


@pytest.mark.parametrize(
    ("name", "kind"), [("id_ed25519", "ed25519"), ("id_ecdsa", "ecdsa"), ("id_rsa", "rsa")]
)
def test_a_key_of_a_usual_kind_is_taken_as_it_is(config: Config, keys: Path, name: str, kind: str) -> None:
    make_key(keys / name, kind)
    before = (keys / name).read_bytes()
    found = identity.ensure(config)
    assert (found.key, found.created) == (str(keys / name), False)
    assert found.public_key == (keys / f"{name}.pub").read_text().strip()
    assert (keys / name).read_bytes() == before


def test_a_single_key_of_any_name_is_taken(config: Config, keys: Path) -> None:
    make_key(keys / "deploy key é")
    (keys / "known_hosts").write_text("example.org ssh-ed25519 AAAA\n")
    (keys / "notes.txt").write_text("mine\n")
    assert identity.ensure(config).key == str(keys / "deploy key é")
    assert shlex.split(identity.ssh_command(config))[4] == f'IdentityFile="{keys}/deploy key é"'


def test_of_several_the_usual_names_come_first_in_a_fixed_order(config: Config, keys: Path) -> None:
    for name in ("other", "id_rsa", "id_ecdsa"):
        make_key(keys / name)
    assert identity.ensure(config).key == str(keys / "id_ecdsa")


def test_several_of_unusual_names_are_for_a_person_to_choose_from(config: Config, keys: Path) -> None:
    for name in ("one", "two"):
        make_key(keys / name)
    with pytest.raises(BadConfig, match="one, two") as failed:
        identity.ensure(config)
    assert "id_ed25519" in failed.value.hint


def test_a_passphrase_is_told_with_the_way_out(config: Config, keys: Path) -> None:
    make_key(keys / "id_ed25519", passphrase="secret")
    with pytest.raises(BadConfig, match="passphrase") as failed:
        identity.ensure(config)
    assert failed.value.code == "key_has_passphrase"
    assert f"ssh-keygen -p -f '{keys}/id_ed25519'" in failed.value.hint


@pytest.mark.parametrize("damage", [b"", b"no key at all\n", None, "cut", "windows"])
def test_a_damaged_key_is_told_and_left_alone(config: Config, keys: Path, damage: bytes | str | None) -> None:
    key = keys / "id_ed25519"
    make_key(key)
    whole = key.read_bytes()
    broken = {"cut": whole[:200], "windows": whole.replace(b"\n", b"\r\n"), None: b"\xff\0" * 50}
    data = damage if isinstance(damage, bytes) else broken[damage]
    key.write_bytes(data)
    with pytest.raises(BadConfig, match="cannot be read as a private key") as failed:
        identity.ensure(config)
    assert failed.value.exit_code == 78 and str(key) in failed.value.message
    assert key.read_bytes() == data


def test_a_key_behind_a_dangling_link_is_not_replaced(config: Config, keys: Path) -> None:
    (keys / "id_ed25519").symlink_to("/nowhere/secret")
    with pytest.raises(BadConfig):
        identity.ensure(config)
    assert (keys / "id_ed25519").is_symlink()


def test_a_folder_that_is_a_file_is_told(config: Config, place: Path) -> None:
    (place / "identity").write_text("")
    with pytest.raises(BadConfig, match="ssh_key_dir"):
        identity.ensure(config)


def test_a_key_that_others_can_read_is_closed_and_that_is_said(
    config: Config, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_key(keys / "id_ed25519")
    (keys / "id_ed25519").chmod(0o644)
    identity.ensure(config)
    assert mode(keys / "id_ed25519") == 0o600
    assert "mode 644" in capsys.readouterr().err


def test_a_missing_public_key_is_derived_and_shown(
    config: Config, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_key(keys / "id_ed25519")
    public = keys / "id_ed25519.pub"
    text = public.read_text().strip()
    public.unlink()
    found = identity.ensure(config)
    assert found.public_key == text == public.read_text().strip()
    assert not found.created
    assert text in capsys.readouterr().err


def test_a_public_key_of_another_pair_is_replaced_and_that_is_said(
    config: Config, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_key(keys / "id_ed25519")
    right = (keys / "id_ed25519.pub").read_text().split()[1]
    make_key(keys / "other")
    (keys / "other.pub").rename(keys / "id_ed25519.pub")
    (keys / "other").unlink()
    assert identity.ensure(config).public_key.split()[1] == right
    assert "was not the public half" in capsys.readouterr().err


def test_without_ssh_keygen_the_package_is_named(
    config: Config, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setenv("PATH", str(place))
    with pytest.raises(Missing) as failed:
        identity.ensure(config)
    assert (failed.value.exit_code, "apt-get install openssh-client" in failed.value.hint) == (69, True)


def test_killed_between_the_halves_the_next_call_completes_the_pair(config: Config, keys: Path) -> None:
    program = f"from ent_agent import config; from ent_agent.repositories import identity; identity.ensure(config.load({str(config.path)!r}))"
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path), "ENT_AGENT_STOP_AT": "identity private key"}
    killed = process.run([sys.executable, "-c", program], env=env)
    assert killed.exit_code == -signal.SIGKILL
    assert (keys / "id_ed25519").exists() and not (keys / "id_ed25519.pub").exists()
    found = identity.ensure(config)
    assert found.public_key.endswith(" robo@example.org")
    assert sorted(path.name for path in keys.iterdir()) in (
        [".lock", "id_ed25519", "id_ed25519.pub"],
        [".lock", next((path.name for path in keys.glob(".new-*")), ""), "id_ed25519", "id_ed25519.pub"],
    )


def test_what_a_killed_generation_left_goes_with_the_next(config: Config, keys: Path) -> None:
    left = keys / ".new-abc"
    left.mkdir()
    (left / "id_ed25519").write_text("half")
    assert identity.ensure(config).created
    assert not left.exists()


def test_ssh_is_told_this_key_only_whatever_the_folder_is_called(place: Path) -> None:
    config = configuration(place, "git@example.org:a/b.git", ssh_key_dir=ODD.replace("$", "$$"))
    identity.ensure(config)
    shown = process.run(["sh", "-c", f"{identity.ssh_command(config)} -G example.org"])
    options = dict(line.split(" ", 1) for line in shown.text.splitlines())
    folder = place / ODD
    assert folder.is_dir()
    assert options["identityfile"] == f"{folder}/id_ed25519".replace(
        "%", "%%"
    )  # `ssh -G` shows it unexpanded
    assert options["userknownhostsfile"] == f"{folder}/known_hosts"
    assert options["identitiesonly"] == "yes" and options["identityagent"] == "none"
    assert options["batchmode"] == "yes" and options["stricthostkeychecking"] == "accept-new"
    assert int(options["connecttimeout"]) > 0 and int(options["serveraliveinterval"]) > 0


def test_nothing_of_the_users_own_ssh_configuration_takes_part(
    config: Config, clean_environment: Path
) -> None:
    (clean_environment / ".ssh").mkdir(mode=0o700)
    (clean_environment / ".ssh/config").write_text("Host *\n  ProxyCommand touch planted\n  User mallory\n")
    shown = process.run(["sh", "-c", f"{identity.ssh_command(config)} -G example.org"]).text
    assert "mallory" not in shown and "planted" not in shown
