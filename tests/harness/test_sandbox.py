from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from harness import process, sandbox
from harness.errors import BadConfig
from harness.sandbox import Sandbox, View
from harness.supervision import Limits, supervise

WHY_NOT = sandbox._why_not()
needs_bubblewrap = pytest.mark.skipif(bool(WHY_NOT), reason=f"no sandbox here: {WHY_NOT}")


@pytest.fixture
def view(place: Path) -> View:
    """A worktree in a state folder of which only that and some objects may be seen."""
    for folder in ("state/worktrees/1", "state/worktrees/2", "state/objects", "key", "home", "tmp"):
        (place / folder).mkdir(parents=True)
    (place / "state/objects/pack").write_text("objects")
    (place / "state/secret").write_text("of others")
    (place / "state/worktrees/2/file").write_text("of others")
    (place / "key/id").write_text("PRIVATE")
    (place / "config.toml").write_text("secret")
    return View(
        writable=[place / "state/worktrees/1", place / "home", place / "not there"],
        readable=[place / "state/objects"],
        hidden=[place / "state", place / "key", place / "config.toml", place / "not there either"],
        temporary=place / "tmp",
    )


def inside(view: View, command: str, place: Path) -> process.Finished:
    words = Sandbox("bwrap").wrap(["sh", "-c", command], view, place / "state/worktrees/1")
    return process.run(words, env={"PATH": os.environ["PATH"]}, timeout_seconds=30)


@needs_bubblewrap
def test_the_worktree_is_there_and_writable(place: Path, view: View) -> None:
    done = inside(view, "pwd; echo work > file", place)
    assert done.text == f"{place / 'state/worktrees/1'}\n"
    assert (place / "state/worktrees/1/file").read_text() == "work\n"


@needs_bubblewrap
@pytest.mark.parametrize("path", ["state/secret", "state/worktrees/2/file", "key/id"])
def test_what_is_hidden_is_not_there(place: Path, view: View, path: str) -> None:
    assert not inside(view, f"cat '{place / path}'", place).ok
    assert (place / path).exists()


@needs_bubblewrap
def test_a_hidden_file_is_empty(place: Path, view: View) -> None:
    done = inside(view, f"cat '{place}/config.toml'; ls '{place}/key'", place)
    assert (done.text, done.exit_code) == ("", 0)


@needs_bubblewrap
def test_what_is_readable_cannot_be_changed(place: Path, view: View) -> None:
    assert inside(view, f"cat '{place}/state/objects/pack'", place).text == "objects"
    for path in ("state/objects/pack", "state/new", "/etc/ent-agent-test", "/usr/ent-agent-test"):
        done = inside(view, f"echo > '{place / path}'", place)
        assert not done.ok and "Read-only file system" in done.error_text, path


@needs_bubblewrap
def test_tmp_is_the_runs_own(place: Path, view: View) -> None:
    assert inside(
        view, "ls -A /tmp/ssh-* /tmp/.X11-unix; echo x > /tmp/mine; echo x > /var/tmp/too", place
    ).ok
    assert (place / "tmp/mine").exists() and (place / "tmp/too").exists()


@needs_bubblewrap
def test_sockets_of_the_session_cannot_be_reached(place: Path, view: View) -> None:
    """An ssh-agent's socket below /tmp would sign a push."""
    path = f"/tmp/ssh-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            listening.bind(path)
            assert inside(view, f"test ! -e {path} && test ! -e /run/user && test ! -e /run/dbus", place).ok
        finally:
            Path(path).unlink(missing_ok=True)


@needs_bubblewrap
def test_other_processes_are_not_there(place: Path, view: View) -> None:
    done = inside(view, f"test ! -e /proc/{os.getpid()}/environ; ls -d /proc/[0-9]* | wc -l", place)
    assert done.ok and int(done.text) < 10


@needs_bubblewrap
def test_root_cannot_undo_it(place: Path, view: View) -> None:
    for command in (
        "mount -o remount,rw /",
        f"umount '{place}/key'",
        "mknod /tmp/disk b 254 0",
        "chroot / true",
    ):
        assert not inside(view, command, place).ok, command


@needs_bubblewrap
def test_the_network_can_be_taken_away(place: Path, view: View) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
        bash = shutil.which("bash") or "bash"
        for network, reachable in ((True, True), (False, False)):
            chosen = View(view.writable, view.readable, view.hidden, view.temporary, network)
            words = Sandbox("bwrap").wrap([bash, "-c", command], chosen, place / "state/worktrees/1")
            assert process.run(words, timeout_seconds=30).ok == reachable


@needs_bubblewrap
def test_the_stop_signal_reaches_the_agent_and_not_the_sandbox(place: Path, view: View) -> None:
    command = "trap 'echo stopped; exit 7' INT; echo ready; while :; do sleep 0.1; done"
    ended = supervise(
        Sandbox("bwrap").wrap(["bash", "-c", command], view, place / "state/worktrees/1"),
        cwd=place,
        env={"PATH": os.environ["PATH"]},
        transcript=place / "log",
        limits=Limits(1.5, grace_seconds=10),
        stop_signal="INT",
        marker=f"sandbox-{os.getpid()}",
        wrapped=True,
    )
    assert (ended.exit_code, ended.ended_by) == (7, "timeout")
    assert (place / "log").read_text() == "ready\nstopped\n"


@needs_bubblewrap
def test_nothing_outlives_the_sandbox(place: Path, view: View) -> None:
    ended = supervise(
        Sandbox("bwrap").wrap(["bash", "-c", "setsid env -i sleep 600 & echo"], view, place / "home"),
        cwd=place,
        env={"PATH": os.environ["PATH"]},
        transcript=place / "log",
        limits=Limits(10),
        marker=f"sandbox-{os.getpid()}",
        wrapped=True,
    )
    assert (ended.exit_code, ended.swept) == (0, ())


@needs_bubblewrap
def test_a_death_by_signal_is_seen_through_the_sandbox(place: Path, view: View) -> None:
    ended = supervise(
        Sandbox("bwrap").wrap(["bash", "-c", "kill -SEGV $$"], view, place / "home"),
        cwd=place,
        env={"PATH": os.environ["PATH"]},
        transcript=place / "log",
        limits=Limits(10),
        marker=f"sandbox-{os.getpid()}",
        wrapped=True,
    )
    assert (ended.signal, ended.ended_by) == ("SEGV", "signal")


def test_without_bubblewrap_there_is_none_and_that_is_said(
    place: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(sandbox._why_not.cache_clear)
    sandbox._why_not.cache_clear()
    monkeypatch.setenv("PATH", str(place))
    chosen = sandbox.choose("auto")
    assert chosen == Sandbox("none", "bubblewrap (bwrap) is not installed")
    with pytest.raises(BadConfig, match=r"sandbox\.backend"):
        sandbox.choose("bwrap")
    with pytest.raises(BadConfig, match=r"sandbox\.network = false cannot be kept"):
        sandbox.choose("auto", network=False)


def test_a_bubblewrap_that_does_not_keep_its_promise_is_not_used(
    place: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Where user namespaces are forbidden, or a wrapper only pretends."""
    request.addfinalizer(sandbox._why_not.cache_clear)
    sandbox._why_not.cache_clear()
    pretender = place / "bwrap"
    pretender.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    pretender.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    assert sandbox.choose("auto").name == "none"
    pretender.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    sandbox._why_not.cache_clear()
    assert "No permissions to create new namespace" in sandbox.choose("auto").why


def test_none_means_the_command_as_it_is(view: View, place: Path) -> None:
    assert sandbox.choose("none").wrap(["agent", "-x"], view, place) == ["agent", "-x"]
