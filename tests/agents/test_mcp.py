"""A session's tools, used by each agent CLI as tools of its own: it is handed a server of them (MCP)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fordjent.sessions import programs
from fordjent.tools.socket import listen
from tests.agents import homes
from tests.support import desks
from tests.support.cli_under_test import CliUnderTest, Ran
from tests.support.desks import REPOSITORY
from tests.support.forge.server import StandIn
from tests.support.scripted_model import ScriptedModel, Turn

SETTLE: dict[str, Callable[[Path, str], dict[str, str]]] = {
    "claude": homes.claude,
    "codex": homes.codex,
    "opencode": homes.opencode,
    "gemini": homes.gemini,
    "claude-acp": homes.claude,
    "codex-acp": homes.codex,
    "opencode-acp": homes.opencode,
    "gemini-acp": homes.gemini,
}
MODELS = {"gemini": "gemini-2.5-pro", "gemini-acp": "gemini-2.5-pro"}
SAYS = 'Done "so far": a comment, as a tool\'s.'


@pytest.mark.agents
@pytest.mark.parametrize("name", SETTLE)
def test_it_comments_by_a_tool_of_the_session(place: Path, name: str) -> None:
    cli = CliUnderTest(name, place, MODELS.get(name, ""))
    (place / "forge").mkdir()
    turns = [Turn("I say so.", tool="forgejo_comment", arguments={"body": SAYS}), Turn("Done.")]
    with StandIn.start(place / "forge") as forge, ScriptedModel(turns) as model:
        forge.user("alice", admin=True)
        forge.repository(REPOSITORY, collaborators={"fordjent": "write", "alice": "admin"})
        forge.api_as("alice").open_issue(REPOSITORY, "Make it faster")
        cli.variables = SETTLE[name](cli.home, model.url)
        with desks.at(place, forge, worktree=True) as desk:
            path = desk.toolbox.scope.ground.run_folder.socket
            programs.make(place / "bin", [], path)

            async def work() -> Ran:
                async with listen(desk.toolbox, path):
                    server = programs.server(place / "bin")
                    return await asyncio.to_thread(cli.run, tools_server=server)

            ran = desk.runner.run(work())
            said = [one["body"] for one in desk.alice.comments(REPOSITORY, 1)]
    told = json.dumps(model.requests[-1])
    assert [SAYS in text for text in said] == [True], (
        f"{told[-2000:]}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
    )
    assert ran.ended.exit_code == 0 and "Done." in ran.stdout
    assert ran.git("status", "--porcelain", "--ignored") == ""
