"""A session's tools by the Model Context Protocol, with the client of its official SDK."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from fordjent.tools.socket import Listener, listen
from fordjent.tools.toolbox import Toolbox
from harness import process
from tests.support import desks, grounds
from tests.support.desks import REPOSITORY
from tests.support.forge.server import StandIn
from tests.support.grounds import Workbench

ROOT = Path(__file__).resolve().parents[3]
MCP = ROOT / "bin/fordjent-mcp"
SECONDS = 30.0


@pytest.fixture
def bench(place: Path) -> Workbench:
    return grounds.make(place)


@asynccontextmanager
async def serving(toolbox: Toolbox, mode: Literal["legacy", "auto"] = "auto") -> AsyncIterator[Served]:
    """The toolbox at its socket, and a client of the program that asks there."""
    path = toolbox.scope.ground.run_folder.socket
    environment = {**os.environ, "FORDJENT_SOCKET": str(path)}
    program = StdioServerParameters(command=str(MCP), env=environment)
    async with (
        asyncio.timeout(SECONDS),
        listen(toolbox, path) as listener,
        Client(program, mode=mode) as client,
    ):
        yield Served(client, listener)


class Served:
    def __init__(self, client: Client, listener: Listener) -> None:
        self.client = client
        self.listener = listener

    async def use(self, name: str, /, **arguments: object) -> tuple[str, bool]:
        """What it said, and whether it failed."""
        return said(await self.client.call_tool(name, arguments))


def said(result: CallToolResult) -> tuple[str, bool]:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text, result.is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_sees_the_sessions_tools_and_uses_them(
    bench: Workbench, mode: Literal["legacy", "auto"]
) -> None:
    async def use() -> None:
        async with serving(bench.toolbox, mode) as served:
            listed = (await served.client.list_tools()).tools
            specs = bench.toolbox.specs()
            assert [(tool.name, tool.description) for tool in listed] == [
                (spec.name, spec.description) for spec in specs
            ]
            assert [tool.input_schema for tool in listed] == [spec.parameters for spec in specs]
            assert await served.use("read_file", path="hello.txt") == (
                "     1\tone\n     2\ttwo\n     3\tthree",
                False,
            )

    asyncio.run(use())


def test_what_a_tool_refuses_is_an_error_that_the_model_can_read(bench: Workbench) -> None:
    async def use() -> None:
        async with serving(bench.toolbox) as served:
            outside, failed = await served.use("read_file", path="../config.toml")
            assert failed and "leads out" in outside
            wrong, failed = await served.use("read_file", file="hello.txt")
            assert failed and "it takes path" in wrong
            unknown, failed = await served.use("forgejo_create_token", name="x")
            assert failed and "does not exist" in unknown
            long, failed = await served.use("write_file", path="long.txt", content="x" * 5_000_000)
            assert failed and "longer than" in long
            assert not (await served.use("read_file", path="hello.txt"))[1]

    asyncio.run(use())


def test_two_calls_run_at_once(bench: Workbench) -> None:
    async def use() -> None:
        async with serving(bench.toolbox) as served:
            waits = "until [ -e other ]; do sleep 0.02; done; echo seen"
            first, second = await asyncio.gather(
                served.use("bash", command=waits), served.use("bash", command="touch other")
            )
            assert first[0].startswith("seen") and not second[1]

    asyncio.run(use())


def test_a_call_that_is_given_up_is_stopped(bench: Workbench) -> None:
    async def use() -> None:
        async with serving(bench.toolbox) as served:
            call = asyncio.create_task(served.use("bash", command="touch started; sleep 20; touch ran"))
            await until(lambda: (bench.folder / "started").exists())
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await until(lambda: served.listener.open == 0)
            assert not (bench.folder / "ran").exists()
            assert not (await served.use("read_file", path="hello.txt"))[1]

    asyncio.run(use())


def test_a_client_that_goes_takes_its_calls_with_it(bench: Workbench) -> None:
    async def use() -> None:
        path = bench.ground.run_folder.socket
        async with asyncio.timeout(SECONDS), listen(bench.toolbox, path) as listener:
            program = StdioServerParameters(
                command=str(MCP), env={**os.environ, "FORDJENT_SOCKET": str(path)}
            )
            async with Client(program) as client:
                command = {"command": "touch started; sleep 20; touch ran"}
                call = asyncio.create_task(client.call_tool("bash", command))
                await until(lambda: (bench.folder / "started").exists())
                call.cancel()
            await until(lambda: listener.open == 0)
        assert not (bench.folder / "ran").exists()

    asyncio.run(use())


def test_a_long_call_shows_signs_of_life(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else clients give it up: most wait a minute for the next word."""
    slow = bench.folder.parent / "slow.py"
    slow.write_text(
        f"import sys; sys.path.insert(0, {str(ROOT / 'lib')!r}); sys.argv[0] = 'fordjent-mcp'\n"
        "from fordjent.mcp import server; server.SIGN_OF_LIFE_SECONDS = 0.05\n"
        "from fordjent.commands.mcp import main; main()\n"
    )

    async def use() -> list[float]:
        path = bench.ground.run_folder.socket
        environment = {**os.environ, "FORDJENT_SOCKET": str(path)}
        program = StdioServerParameters(command=sys.executable, args=[str(slow)], env=environment)
        heard: list[float] = []

        async def hear(progress: float, _total: float | None, _message: str | None) -> None:
            heard.append(progress)

        async with asyncio.timeout(SECONDS), listen(bench.toolbox, path), Client(program) as client:
            call = client.call_tool(
                "bash", {"command": "until [ -e go ]; do sleep 0.02; done"}, progress_callback=hear
            )
            calling = asyncio.create_task(call)
            await until(lambda: len(heard) > 2)
            (bench.folder / "go").touch()
            assert not said(await calling)[1]
        return heard

    heard = asyncio.run(use())
    assert heard == sorted(heard)


def test_after_the_end_of_the_run_every_call_says_so(bench: Workbench) -> None:
    async def use() -> None:
        path = bench.ground.run_folder.socket
        environment = {**os.environ, "FORDJENT_SOCKET": str(path)}
        async with asyncio.timeout(SECONDS):
            listening = listen(bench.toolbox, path)
            await listening.__aenter__()
            async with Client(StdioServerParameters(command=str(MCP), env=environment)) as client:
                await listening.__aexit__(None, None, None)
                text, failed = said(await client.call_tool("read_file", {"path": "hello.txt"}))
        assert failed and "its run has ended" in text

    asyncio.run(use())


def test_a_tool_of_the_forge_acts_as_the_session(place: Path) -> None:
    (place / "forge").mkdir()
    with StandIn.start(place / "forge") as forge:
        forge.user("alice", admin=True)
        forge.repository(REPOSITORY, collaborators={"fordjent": "write", "alice": "admin"})
        forge.api_as("alice").open_issue(REPOSITORY, "Make it faster")
        with desks.at(place, forge, worktree=True) as desk:

            async def use() -> tuple[str, bool]:
                async with serving(desk.toolbox) as served:
                    return await served.use("forgejo_comment", body="Hello from a tool")

            text, failed = desk.runner.run(use())
            assert not failed, text
            (comment,) = desk.alice.comments(REPOSITORY, 1)
            assert comment["user"]["login"] == "fordjent" and "Hello from a tool" in comment["body"]
            assert [record.name for record in desk.records()] == ["forgejo_comment"]


def test_without_a_session_it_says_what_is_missing(place: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "FORDJENT_SOCKET"}
    nowhere = process.run([str(MCP)], env=environment)
    ended = process.run([str(MCP)], env={**environment, "FORDJENT_SOCKET": str(place / "none")})
    assert (nowhere.exit_code, ended.exit_code) == (64, 75)
    assert "FORDJENT_SOCKET is not set" in nowhere.error_text and "its run has ended" in ended.error_text


def test_no_other_command_loads_the_sdk() -> None:
    program = (
        "import sys, pathlib, importlib; sys.path.insert(0, 'lib')\n"
        "for path in pathlib.Path('lib/fordjent').rglob('*.py'):\n"
        "    name = '.'.join(path.relative_to('lib').with_suffix('').parts).removesuffix('.__init__')\n"
        "    if name != 'fordjent.mcp.server' and 'migrations' not in name: importlib.import_module(name)\n"
        "assert 'mcp' not in sys.modules and 'mcp_types' not in sys.modules\n"
    )
    loaded = process.run([sys.executable, "-c", program], cwd=ROOT)
    assert loaded.ok, loaded.error_text


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)
