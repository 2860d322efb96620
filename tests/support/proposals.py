"""A session with a worktree, a forge that answers, and proposals from it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import insert

from fordjent.config import Config
from fordjent.context import Context
from fordjent.gates.gate import Proposal
from fordjent.session_key import SessionKey
from fordjent.store.schema import sessions
from fordjent.workspaces.place import Place
from fordjent.workspaces.workspaces import Workspaces
from harness import effects, process
from harness.config import Sandbox
from harness.process import Finished
from tests.support import workshop
from tests.support.forge.people import Person
from tests.support.forge.server import StandIn

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "acme/widget"
FILES = {"README.md": "# Widget\n", "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"}

CONFIG = """
[webhook]
secret = "s3cret-for-tests"
[forgejo]
url = "{url}"
token = "{token}"
[providers.main]
base_url = "scripted:none"
model = "scripted"
[state]
dir = "{state}"
[sandbox]
backend = "none"
"""

KILLER = f"""
import os, sys; sys.path.insert(0, {str(ROOT / "lib")!r})
from fordjent import context, once
from fordjent.commands import gate
from fordjent.forge import forge
from fordjent.gates import lease, pull_requests
from fordjent.store import database, migrating

for line in sys.stdin:
    key, effect = line.split()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(2, 1)
        os.environ["{effects.STOP_AT}"] = effect
        sys.argv[1:] = [*sys.argv[1:3], key]
        gate.main()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""Starts `fordjent-gate` again and again without loading it anew."""


@dataclass
class Desk:
    folder: Path
    forge: StandIn
    config: Config
    context: Context
    runner: asyncio.Runner

    @property
    def alice(self) -> Person:
        return self.forge.api_as("alice")

    @property
    def workspaces(self) -> Workspaces:
        return Workspaces(self.config, self.forge.url, self.config.forgejo.token)

    def key(self, number: int) -> SessionKey:
        return SessionKey(REPOSITORY, "issues", number)

    def session(self, number: int, state: str = "working") -> Place:
        """The row of a session, and its worktree."""
        now = time.time()
        row = {
            "key": str(self.key(number)),
            "repository": REPOSITORY,
            "kind": "issues",
            "number": number,
            "state": state,
            "branch": f"fordjent/issue-{number}",
            "created_at": now,
            "changed_at": now,
        }
        self.context.database.submit(
            lambda connection: connection.execute(insert(sessions).values(row))
        ).result()
        return self.workspaces.prepare(self.key(number))

    def issue(self) -> Place:
        """A new issue on the forge, and its session's worktree."""
        return self.session(self.alice.open_issue(REPOSITORY, "Make it better"))

    def proposal(self, place: Place, **more: Any) -> Proposal:
        fields: dict[str, Any] = {
            "context": self.context,
            "forge": self.context.forge,
            "place": place,
            "run": "run-1",
            "title": "Make it better",
            "body": f"Closes #{place.key.number}.",
            "effect": f"{place.key}:run-1:call-1",
        }
        return Proposal(**{**fields, **more})

    def run(self, waited: Awaitable[T]) -> T:
        async def wait() -> T:
            return await waited

        return self.runner.run(wait())

    def command(self, *words: str) -> Finished:
        """`fordjent-gate` with these words."""
        return process.run([sys.executable, str(ROOT / "bin/fordjent-gate"), *self._config(), *words])

    @contextmanager
    def killer(self) -> Iterator[Callable[[str, str], int]]:
        """A function of a session's key and an effect: `fordjent-gate` is killed after that; its exit code."""
        program = [sys.executable, "-c", KILLER, *self._config()]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killer:
            assert killer.stdin and killer.stdout

            def kill(key: str, effect: str) -> int:
                assert killer.stdin and killer.stdout
                print(key, effect, file=killer.stdin, flush=True)
                return int(killer.stdout.readline())

            yield kill
            killer.stdin.close()

    def _config(self) -> list[str]:
        text = CONFIG.format(url=self.forge.url, token=self.config.forgejo.token, state=self.config.state.dir)
        self.config.path.write_text(text)
        return ["--config", str(self.config.path)]

    def on_forge(self, branch: str) -> str:
        """The commit of a branch on the forge; "": there is none."""
        return self.forge.world.repositories[REPOSITORY].bare.refs().get(f"refs/heads/{branch}", "")


@contextmanager
def desk(folder: Path, forge: StandIn, **tables: Any) -> Iterator[Desk]:
    """`tables`: tables of the configuration that are not as they would be without."""
    forge.user("alice", admin=True)
    forge.repository(REPOSITORY, FILES, collaborators={"fordjent": "write"}, private=True)
    token = forge.token("fordjent")
    tables.setdefault("sandbox", Sandbox(backend="none"))
    config = workshop.config(folder, forge.url, token, **tables)
    with asyncio.Runner() as runner:
        opened = Context.open(config)
        context = runner.run(opened.__aenter__())
        try:
            yield Desk(folder, forge, config, context, runner)
        finally:
            runner.run(opened.__aexit__(None, None, None))
