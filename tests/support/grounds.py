"""A worktree with its config.toml, as local tools get it, without a forge."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from fordjent import config
from fordjent.agent.turns import ToolResult
from fordjent.config import Config
from fordjent.context import redactor_of
from fordjent.models.messages import ToolCall
from fordjent.tools.ground import Ground
from fordjent.tools.scope import Scope
from fordjent.tools.toolbox import Toolbox
from harness import process
from harness.git import Person, environment

BOT = Person("Fordjent", "bot@example.org")
SECRET = "forge-token-0123456789abcdef"

CONFIG = """
[webhook]
secret = "0123456789abcdef-webhook"
[forgejo]
url = "{url}"
token = "{token}"
[providers.main]
base_url = "http://127.0.0.1:1/v1"
model = "none"
[state]
dir = "state"
"""


@dataclass
class Workbench:
    """A git repository on the branch `fordjent/issue-1`, and a toolbox for it."""

    config: Config
    folder: Path
    toolbox: Toolbox

    @property
    def ground(self) -> Ground:
        return self.toolbox.scope.ground

    def use(self, name: str, **arguments: Any) -> ToolResult:
        return asyncio.run(self.toolbox.call(ToolCall("call-1", name, json.dumps(arguments))))

    def git(self, *args: str) -> str:
        finished = process.run(["git", *args], cwd=self.folder, env=environment(person=BOT))
        assert finished.ok, finished.error_text
        return finished.text.strip()


def write_config(place: Path, more: str = "", url: str = "http://127.0.0.1:1", token: str = SECRET) -> Config:
    path = place / "config.toml"
    path.write_text(CONFIG.format(url=url, token=token) + more)
    return config.load(str(path))


def make(place: Path, more: str = "") -> Workbench:
    made = write_config(place, more)
    folder = place / "work tree"
    folder.mkdir()
    bench = Workbench(made, folder, None)  # type: ignore[arg-type]
    (folder / "hello.txt").write_text("one\ntwo\nthree\n")
    bench.git("init", "--quiet", "--initial-branch=fordjent/issue-1")
    bench.git("add", ".")
    bench.git("commit", "--quiet", "-m", "Begin")
    bench.toolbox = toolbox(made, folder)
    return bench


def toolbox(of: Config, folder: Path) -> Toolbox:
    """The local tools for a folder, with this process's environment as it is now."""
    ground = Ground.make(of, folder, "run-1", person=BOT)
    return Toolbox(Scope.of_folder(ground, redactor_of(of), structlog.get_logger(), run="run-1"))
