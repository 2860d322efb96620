"""The loop's ssh against a real OpenSSH server: first contact, changed and refused keys, servers that hang."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ent_agent.config import Config
from ent_agent.repositories import identity, origin
from harness import git as git_
from harness import process
from harness.errors import BadConfig, TryLater
from harness.git import Git, GitFailed
from tests.support.sample import SPELLING, Sample, configuration
from tests.support.ssh_server import SSHD, MuteServer, SshServer

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    SSHD is None, reason="sshd is not installed: sudo apt-get install openssh-server"
)


@pytest.fixture
def server(place: Path) -> Iterator[SshServer]:
    with SshServer(place / "sshd") as running:
        yield running


@pytest.fixture
def config(place: Path, sample: Sample, server: SshServer) -> Config:
    """A key in a folder with a space, an accent, quotes and a percent sign in its name."""
    return configuration(place, server.url(sample.origin), ssh_key_dir="""clés d'un "robot" 100%/identity""")


@pytest.fixture
def client(place: Path, config: Config, server: SshServer) -> Git:
    """control.git as the loop has it, its key authorized."""
    server.authorize(identity.ensure(config).public_key)
    return repository(place, config)


def repository(place: Path, config: Config) -> Git:
    git_.init_bare(place / "control.git")
    git = Git(place / "control.git", ssh_command=identity.ssh_command(config), person=config.person)
    git.run("config", "remote.origin.url", config.repo_url)
    git.run("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    return git


def test_first_contact_is_accepted_once_and_remembered_beside_the_key(client: Git, config: Config) -> None:
    client.run("ls-remote", "origin")
    known = identity.known_hosts(config).read_text()
    assert known.startswith("[127.0.0.1]:")
    assert identity.known_hosts(config).parent == config.folder(config.ssh_key_dir)
    client.run("ls-remote", "origin")
    assert identity.known_hosts(config).read_text() == known


def test_a_changed_host_key_is_refused_until_a_person_runs_the_command_of_the_hint(
    client: Git, config: Config, server: SshServer
) -> None:
    client.run("ls-remote", "origin")
    known = identity.known_hosts(config).read_text()
    server.stop()
    server.new_host_key()
    server.start()
    with pytest.raises(TryLater) as refused:
        origin.ask(client, config, "ls-remote", "origin")
    assert (refused.value.code, refused.value.exit_code) == ("host_key_changed", 75)
    assert identity.known_hosts(config).read_text() == known
    command = refused.value.hint.split("if so: ")[1]
    subprocess.run(shlex.split(command), check=True, timeout=30)
    origin.ask(client, config, "ls-remote", "origin")


def test_the_users_own_ssh_configuration_and_agent_take_no_part(
    client: Git, clean_environment: Path, monkeypatch: pytest.MonkeyPatch, server: SshServer
) -> None:
    server.refuse_all()
    ssh = clean_environment / ".ssh"
    ssh.mkdir(0o700)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ssh / "id_ed25519"], check=True, timeout=30
    )
    server.authorize((ssh / "id_ed25519.pub").read_text())
    (ssh / "config").write_text("Host *\n  ProxyCommand touch ran\n")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(ssh / "agent"))
    with pytest.raises(GitFailed) as refused:
        client.run("ls-remote", "origin")
    assert "Permission denied (publickey" in refused.value.finished.error_text
    # ssh finds the home folder by passwd(5), not by $HOME: what stands there cannot be planted by a test.
    words = shlex.split(client.ssh_command)
    assert words[1:3] == ["-F", "/dev/null"]
    assert {"IdentityAgent=none", "IdentitiesOnly=yes"} <= set(words)


def test_a_refused_key_works_as_soon_as_it_is_registered(
    place: Path, config: Config, server: SshServer
) -> None:
    key = identity.ensure(config)
    client = repository(place, config)
    with pytest.raises(TryLater) as refused:
        origin.ask(client, config, "ls-remote", "origin")
    assert (refused.value.code, refused.value.exit_code) == ("permission_denied", 75)
    assert "id_ed25519.pub" in refused.value.hint
    server.authorize(key.public_key)
    assert "refs/heads/main" in client.text("ls-remote", "origin")


def test_a_key_that_others_can_read_is_made_private_before_ssh_refuses_it(
    client: Git, config: Config, capfd: pytest.CaptureFixture[str]
) -> None:
    key = Path(identity.ensure(config).key)
    key.chmod(0o644)
    with pytest.raises(GitFailed):
        client.run("ls-remote", "origin")
    identity.ensure(config)
    assert key.stat().st_mode & 0o777 == 0o600
    assert "could be read by others" in capfd.readouterr().err
    client.run("ls-remote", "origin")


def test_a_key_with_a_passphrase_is_refused_before_the_network_is_asked(client: Git, config: Config) -> None:
    key = Path(identity.ensure(config).key)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", key], check=True, timeout=30)
    with pytest.raises(BadConfig) as refused:
        identity.ensure(config)
    assert refused.value.code == "key_has_passphrase"
    assert "ssh-keygen -p -f" in refused.value.hint


def test_a_server_that_never_greets_is_given_up(
    place: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "CONNECT_TIMEOUT_SECONDS", 1)
    mute = MuteServer()
    try:
        config = configuration(place, f"ssh://127.0.0.1:{mute.port}{sample.origin}")
        identity.ensure(config)
        started = time.monotonic()
        with pytest.raises(TryLater) as given_up:
            origin.ask(repository(place, config), config, "ls-remote", "origin")
        assert given_up.value.code == "git_unreachable"
        assert time.monotonic() - started < 10
    finally:
        mute.close()


def test_a_server_that_falls_silent_in_the_middle_is_given_up(
    place: Path, config: Config, server: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "DEAD_PEER_SECONDS", 4)
    server.authorize(f'command="sleep 60" {identity.ensure(config).public_key}')
    client = repository(place, config)
    fetching = subprocess.Popen(
        ["git", f"--git-dir={client.git_dir}", "fetch", "origin"],
        env=client.environment,
        stderr=subprocess.PIPE,
    )
    frozen = freeze_sessions(server)
    try:
        assert fetching.wait(20) != 0
    finally:
        for session in frozen:
            session.kill()
    assert fetching.stderr and b"not responding" in fetching.stderr.read()


def test_a_fetch_and_an_atomic_push_of_several_refs_go_through(client: Git, sample: Sample) -> None:
    client.run("fetch", "--prune", "origin")
    main = client.resolve("refs/remotes/origin/main")
    data = client.resolve("refs/remotes/origin/entomologist-data")
    assert main == sample.branches()["main"] and data == sample.branches()["entomologist-data"]
    claim = "refs/ent-agent/claims/0"
    client.run("push", f"--force-with-lease={claim}:", "origin", f"{data}:{claim}")
    work = client.objects.write_commit(client.objects.tree_of(main), [main], "Work")
    handed_back = client.objects.write_commit(client.objects.tree_of(data), [data], "Hand back")
    refspecs = (f":{claim}", f"{handed_back}:refs/heads/entomologist-data", f"{work}:refs/heads/robo/0")
    with pytest.raises(GitFailed):
        client.run("push", "--atomic", f"--force-with-lease={claim}:{main}", "origin", *refspecs)
    assert "robo/0" not in sample.branches()
    client.run("push", "--atomic", f"--force-with-lease={claim}:{data}", "origin", *refspecs)
    assert sample.branches()["robo/0"] == work
    assert sample.branches()["entomologist-data"] == handed_back
    assert sample.git.refs("refs/ent-agent/") == {}


def test_the_loop_works_an_issue_over_ssh_and_says_what_to_do_about_a_changed_host(
    place: Path, config: Config, server: SshServer, sample: Sample
) -> None:
    server.authorize(identity.ensure(config).public_key)
    words = [sys.executable, "-m", "invoke", "-r", str(ROOT), "loop", "--config", str(config.path), "--once"]
    looped = process.run(words, timeout_seconds=90)
    assert looped.exit_code == 0, looped.text + looped.error_text
    assert sample.branches().keys() == {"main", "entomologist-data", f"robo/{SPELLING}"}
    assert sample.git.refs("refs/ent-agent/") == {}
    server.stop()
    server.new_host_key()
    server.start()
    words = [str(ROOT / "bin/ent-agent-sync"), "--config", str(config.path)]
    synced = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert synced.returncode == 75
    error = json.loads(synced.stderr.splitlines()[-1])
    assert (error["code"], error["retry"]) == ("host_key_changed", True)
    assert "ssh-keygen -R" in error["hint"]


def freeze_sessions(server: SshServer) -> list[psutil.Process]:
    """Stop the server's side of a connection as soon as its command runs."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        sessions = server.sessions()
        if any("sleep" in session.name() for session in sessions):
            for session in sessions:
                session.suspend()
            return sessions
        time.sleep(0.05)
    raise AssertionError("no session was opened")
