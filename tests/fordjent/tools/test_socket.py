"""The tools over a run's socket, and the command that uses it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fordjent.tools import wire
from fordjent.tools.socket import Listener, listen
from fordjent.tools.wire import Request
from harness import process
from harness.process import Finished
from tests.support.desks import REPOSITORY, Desk
from tests.support.forge.server import StandIn
from tests.support.grounds import Workbench, write_config

TOOL = Path(__file__).resolve().parents[3] / "bin/fordjent-tool"


@contextmanager
def serving(bench: Workbench, path: Path) -> Iterator[Listener]:
    """The toolbox at `path`, from a thread with a loop of its own."""
    with listening_thread() as loop:
        entered = listen(bench.toolbox, path)
        yield asyncio.run_coroutine_threadsafe(entered.__aenter__(), loop).result(10)
        asyncio.run_coroutine_threadsafe(entered.__aexit__(None, None, None), loop).result(20)


@contextmanager
def listening_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture
def door() -> Iterator[Path]:
    """A place for a socket whose path is short enough for anybody."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "own/tools"


def run_tool(*words: str, stdin: str = "", cwd: Path | None = None, **variables: str) -> Finished:
    return process.run([TOOL, *words], stdin=stdin.encode(), cwd=cwd, env={**os.environ, **variables})


def test_a_command_in_a_session_uses_the_sessions_tools(bench: Workbench) -> None:
    path = bench.ground.run_folder.socket
    with serving(bench, path):
        read = run_tool("read_file", stdin='{"path": "hello.txt"}', FORDJENT_SOCKET=str(path))
        refused = run_tool("read_file", stdin='{"path": "../config.toml"}', FORDJENT_SOCKET=str(path))
        listed = run_tool("--list", FORDJENT_SOCKET=str(path))

    assert (read.exit_code, read.text) == (0, "     1\tone\n     2\ttwo\n     3\tthree\n")
    assert refused.exit_code == 1 and "leads out" in refused.text
    assert [line.split("\t")[0] for line in listed.text.splitlines()] == [
        "read_file",
        "write_file",
        "edit_file",
        "bash",
        "git",
    ]


def test_it_works_from_inside_the_sandbox(bench: Workbench) -> None:
    path = bench.ground.run_folder.socket
    command = f"""export FORDJENT_SOCKET='{path}'; echo '{{"path": "hello.txt"}}' | '{TOOL}' read_file"""
    with serving(bench, path):
        read = bench.use("bash", command=command)
        planted = bench.use("bash", command=f"touch '{path.parent}/planted'")

    assert read.text == "     1\tone\n     2\ttwo\n     3\tthree\n[exit code 0]"
    assert planted.failed or bench.ground.sandbox.name == "none"


def test_only_this_user_can_reach_it(bench: Workbench) -> None:
    path = bench.ground.run_folder.socket
    with serving(bench, path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_another_users_process_is_not_answered(
    bench: Workbench, door: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(bench, door), socket.socket(socket.AF_UNIX) as connection:
        monkeypatch.setattr(os, "geteuid", lambda: 4242)
        connection.settimeout(10)
        connection.connect(str(door))
        with pytest.raises((ConnectionError, BrokenPipeError, AssertionError)):
            connection.sendall(b'{"do":"list"}\n')
            assert connection.recv(10)


def test_a_path_that_is_too_long_for_a_socket_works_all_the_same(bench: Workbench) -> None:
    path = bench.folder.parent / ("a long name " * 9) / "tools"
    with serving(bench, path):
        assert "two" in wire.ask(path, Request(name="read_file", arguments='{"path":"hello.txt"}'), 10).text


@pytest.mark.parametrize(
    "line",
    [b"nonsense\n", b"[]\n", b'{"do": "steal"}\n', b"\xff\xfe\n", b"{" + b"x" * (5 * 1024 * 1024) + b"\n"],
)
def test_nonsense_is_answered_and_the_next_one_is_served(bench: Workbench, door: Path, line: bytes) -> None:
    with serving(bench, door):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(door))
            answer = b""
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(line)
            with suppress(ConnectionResetError):
                answer = connection.recv(100_000)
        assert answer == b"" or json.loads(answer)["failed"]
        assert wire.ask(door, Request(do="list"), 10).tools


def test_who_says_nothing_or_goes_leaves_nothing_running(bench: Workbench, door: Path) -> None:
    mark = bench.folder / "ran"
    with serving(bench, door) as listener:
        with socket.socket(socket.AF_UNIX) as silent, socket.socket(socket.AF_UNIX) as leaving:
            silent.connect(str(door))
            leaving.connect(str(door))
            command = {"command": "touch started; sleep 20; touch ran"}
            leaving.sendall(wire.encode(Request(name="bash", arguments=json.dumps(command))))
            wait_for(lambda: (bench.folder / "started").exists())
        wait_for(lambda: listener.open == 0)

    assert not mark.exists()


def test_a_server_that_is_gone_is_told_in_a_sentence(place: Path) -> None:
    finished = run_tool("read_file", stdin="{}", FORDJENT_SOCKET=str(place / "none"))

    assert finished.exit_code == 75 and "does not answer" in finished.error_text


def test_a_socket_that_a_kill_left_is_replaced(bench: Workbench, door: Path) -> None:
    door.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(door))

    with serving(bench, door):
        assert wire.ask(door, Request(do="list"), 10).tools
    assert not door.exists()


def test_a_person_uses_local_tools_where_they_stand(bench: Workbench) -> None:
    config = str(bench.config.path)

    read = run_tool("--config", config, "read_file", stdin='{"path": "hello.txt"}', cwd=bench.folder)
    ran = run_tool("--config", config, "bash", stdin='{"command": "exit 4"}', cwd=bench.folder)

    assert read.exit_code == 0 and "two" in read.text
    assert ran.exit_code == 1 and ran.text == "[exit code 4]\n"
    assert [each.name for each in (bench.config.state_dir / "runs").iterdir()] == ["run-1"]


def test_a_person_uses_tools_of_the_forge_with_their_own_token(place: Path, forge: StandIn) -> None:
    config = write_config(place, url=forge.url, token=forge.token("fordjent"))

    shown = run_tool(
        "--repository",
        REPOSITORY,
        "--config",
        str(config.path),
        "forgejo_get_issue",
        stdin='{"issue_number": 1}',
    )
    written = run_tool(
        "--session",
        f"{REPOSITORY}/issues/1",
        "--config",
        str(config.path),
        "forgejo_comment",
        stdin='{"body": "Hello"}',
    )

    assert shown.exit_code == 0 and "Make it faster" in shown.text, shown.error_text
    assert written.exit_code == 0 and len(forge.api_as("alice").comments(REPOSITORY, 1)) == 1


@pytest.mark.parametrize(
    ("words", "stdin", "code", "said"),
    [
        (["forgejo_get_issue"], "{}", 64, "--repository"),
        (["no_such_tool"], "{}", 64, "no tool"),
        (["--schema", "no_such_tool"], "", 64, "no tool"),
        (["--list", "--role", "king"], "", 64, "no role"),
        ([], "", 64, "name one tool"),
        (["read_file"], "not json", 1, "not JSON"),
        (["read_file"], '{"paths": ["x"]}', 1, "it takes path"),
    ],
)
def test_what_is_off_is_told_with_its_exit_code(
    bench: Workbench, words: list[str], stdin: str, code: int, said: str
) -> None:
    finished = run_tool("--config", str(bench.config.path), *words, stdin=stdin, cwd=bench.folder)

    assert finished.exit_code == code and said in finished.text + finished.error_text


def test_the_end_of_the_work_is_known_to_the_listener(desk: Desk) -> None:
    """What ends a run ends it also over the socket."""
    from fordjent.tools.tool import Arguments, Outcome, Tool

    async def finish(_scope: object, _asked: object) -> Outcome:
        return Outcome("handed over", ends=True)

    desk.toolbox._tools["forgejo_version"] = Tool("forgejo_version", Arguments, finish)
    path = desk.context.config.state_dir / "socket/tools"

    async def use() -> Listener:
        async with listen(desk.toolbox, path) as listener:
            answer = await asyncio.to_thread(wire.ask, path, Request(name="forgejo_version"), 10)
            assert answer.ends
        return listener

    ended = desk.runner.run(use()).ended
    assert ended is not None and ended.text == "handed over"


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
