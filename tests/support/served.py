"""`fordjent-serve` as a process beside a stand-in forge, with a scripted model: all of Fordjent, on loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from fordjent.config import Config
from fordjent.config import load as load_config
from harness.effects import STOP_AT
from tests.support.forge.people import Person
from tests.support.forge.server import StandIn

ROOT = Path(__file__).resolve().parents[2]
SECRET = "s3cret-of-the-hook-on-loopback"
REPOSITORY = "acme/widget"
BOT = "fordjent"
FILES = {
    ".gitignore": "__pycache__/\n",
    "README.md": "# Widget\n\nSays hello.\n",
    "hello.py": 'def hello(name: str) -> str:\n    return "hello"\n',
    ".fordjent/instructions.md": "Tests are run with `python3 -m unittest`.\n",
}
PATIENCE_SECONDS = 30.0

Rule = Mapping[str, Any]


class Served:
    """Everything in `folder`; the server runs between `start` and `stop`, as often as wanted."""

    def __init__(
        self,
        folder: Path,
        rules: Sequence[Rule],
        *,
        files: Mapping[str, str] | None = None,
        sessions: Mapping[str, Any] | None = None,
        more: str = "",
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.forge = StandIn.start(folder / "forge")
        self.forge.user("alice", admin=True)
        self.forge.repository(
            REPOSITORY, files or FILES, collaborators={"alice": "admin", "bob": "write", BOT: "write"}
        )
        self.port = free_port()
        self.alice, self.bob = self.person("alice"), self.person("bob")
        self.config_path = folder / "config.toml"
        self.script(rules)
        self.config_path.write_text(self._config(dict(sessions or {}), more), encoding="utf-8")
        self.forge.hook(REPOSITORY, f"{self.url}/acp/v1/events", SECRET)
        self.server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.forge.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        path = self.folder / "server.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def person(self, login: str) -> Person:
        return self.forge.api_as(login)

    def script(self, rules: Sequence[Rule]) -> None:
        """What the model says from the next start on."""
        path = self.folder / "model.json"
        path.write_text(json.dumps({"rules": list(rules)}, indent=1), encoding="utf-8")

    # ---- the server

    def start(self, stop_at: str = "") -> None:
        """Back when it listens. `stop_at`: the effect at which it is to be killed."""
        words = [sys.executable, str(ROOT / "bin/fordjent-serve"), "--config", str(self.config_path)]
        env = {name: value for name, value in os.environ.items() if name != STOP_AT}
        with (self.folder / "server.log").open("ab") as log:
            self.server = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env | ({STOP_AT: stop_at} if stop_at else {}),
                start_new_session=True,
            )
        until(lambda: self.answers() or self.has_ended, "the server listens")

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def status(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/status", timeout=10) as answer:
            found = json.load(answer)
        assert isinstance(found, dict)
        return found

    @property
    def has_ended(self) -> bool:
        return self.server is None or self.server.poll() is not None

    def stop(self) -> int:
        """TERM; its exit code."""
        assert self.server
        self.server.send_signal(signal.SIGTERM)
        return self.server.wait(timeout=PATIENCE_SECONDS)

    def kill(self) -> None:
        """kill -9, and all that it started."""
        if self.server and self.server.poll() is None:
            os.killpg(self.server.pid, signal.SIGKILL)
        if self.server:
            self.server.wait(timeout=PATIENCE_SECONDS)

    # ---- what is there

    def row(self, sql: str, *values: object) -> list[Any]:
        """Rows of the database, read beside the server."""
        with closing(sqlite3.connect(self.folder / "state/fordjent.db", timeout=30)) as connection:
            return connection.execute(sql, values).fetchall()

    def state(self, key: str) -> str:
        """Of a session; "": there is none."""
        if not (self.folder / "state/fordjent.db").exists():
            return ""
        rows = self.row("SELECT state FROM sessions WHERE key = ?", f"{REPOSITORY}/{key}")
        return str(rows[0][0]) if rows else ""

    def settled(self, key: str) -> str:
        """The state of a session that nobody works on, and for which nothing waits; "": it is not so yet."""
        if not (self.folder / "state/fordjent.db").exists():
            return ""
        rows = self.row(
            "SELECT state, ready_at, lease_owner FROM sessions WHERE key = ?", f"{REPOSITORY}/{key}"
        )
        return str(rows[0][0]) if rows and rows[0][1] is None and rows[0][2] == "" else ""

    def until_state(self, key: str, *states: str, seconds: float = PATIENCE_SECONDS) -> str:
        """Until a session has settled in one of these states; says what there is when it has not."""
        try:
            until(lambda: self.settled(key) in states, f"{key} is {' or '.join(states)}", seconds)
        except AssertionError as error:
            known = self.row("SELECT key, state, reason, ready_at, lease_owner FROM sessions")
            raise AssertionError(f"{error}\nsessions: {known}\n{self.log[-6000:]}") from None
        return self.settled(key)

    @property
    def config(self) -> Config:
        return load_config(str(self.config_path))

    def _config(self, sessions: dict[str, Any], more: str) -> str:
        chosen = {"coalesce": "100ms", "shutdown_grace": "5s", "max_retries": 0, **sessions}
        lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in chosen.items())
        return f"""\
[server]
port = {self.port}

[webhook]
secret = "{SECRET}"

[forgejo]
url = "{self.forge.url}"
token = "{self.forge.token(BOT)}"
requests_per_minute = 60000

[state]
dir = "state"

[sessions]
{lines}

[providers.main]
base_url = "scripted:model.json"
model = "scripted"

[log]
format = "text"

{more}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for it; never longer than that."""
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.02)
