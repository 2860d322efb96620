"""The stand-in forge: `with StandIn.start(folder) as forge`, and everything else hangs on `forge`."""

from __future__ import annotations

import base64
import importlib
import socket
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import uvicorn

from tests.support.forge.application import Application, Request
from tests.support.forge.delivery import Delivery, Sender
from tests.support.forge.events import Events
from tests.support.forge.faults import Faults, Kind
from tests.support.forge.hooks import EVENTS, add_hook
from tests.support.forge.people import Person
from tests.support.forge.refs import settle
from tests.support.forge.repositories import add_repository
from tests.support.forge.state import Hook, Repository, User, World
from tests.support.forge.users import add_token, add_user

ANSWERING = (
    "users", "repositories", "branches", "labels", "issues", "comments", "reactions", "dependencies", "hooks",
    "pulls", "reviews", "merging", "statuses", "contents", "objects", "timeline",
)  # fmt: skip


class StandIn:
    """A Forgejo server that is strict: what the recorded API does not know is refused, and noted in `strange`."""

    def __init__(self, folder: Path) -> None:
        for name in ANSWERING:
            importlib.import_module(f"tests.support.forge.{name}")
        self.world = World(folder)
        self.sender = Sender()
        self.events = Events(self.world, self.sender)
        self.faults = Faults()
        self.log: list[Request] = []
        self.strange: list[str] = []
        self.port = 0
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._threads = ThreadPoolExecutor(1)
        self._tokens: dict[str, str] = {}

    @classmethod
    def start(cls, folder: Path, port: int = 0) -> StandIn:
        """Listens on loopback; port 0 takes a free one."""
        forge = cls(folder)
        forge.port = port
        forge.up()
        return forge

    def __enter__(self) -> StandIn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self.down()
        self.sender.stop()

    @property
    def url(self) -> str:
        return self.world.url

    def redeliver(self, delivery: Delivery) -> None:
        """The same bytes under the same delivery id, as by a person's click."""
        self.sender.again(delivery)

    @property
    def deliveries(self) -> list[Delivery]:
        """Every webhook, in order; `delivered()` waits for their answers."""
        return self.sender.sent

    # people and repositories

    def user(self, login: str, *, admin: bool = False, email: str = "") -> User:
        """That user, made when not there. The password is `<login>-password`."""
        found = self.world.users.get(login.lower())
        return found or add_user(self.world, login, admin=admin, email=email)

    def token(self, login: str, scopes: tuple[str, ...] = ("all",)) -> str:
        """A token of the user, who is made when not there: the same one for the same scopes."""
        key = f"{login} {' '.join(scopes)}"
        if key not in self._tokens:
            self._tokens[key] = add_token(self.world, self.user(login), "tests", scopes).secret
        return self._tokens[key]

    def repository(
        self,
        full_name: str,
        files: Mapping[str, str] | None = None,
        *,
        default_branch: str = "main",
        collaborators: Mapping[str, str] | None = None,
        private: bool = False,
        empty: bool = False,
    ) -> Repository:
        """A new one of an organization (or of an existing user) with one commit; `empty`: with none."""
        owner_name, name = full_name.split("/")
        owner = self.world.users.get(owner_name.lower()) or add_user(
            self.world, owner_name, organization=True
        )
        repository = add_repository(self.world, owner, name, default_branch, private=private)
        for login, permission in (collaborators or {}).items():
            repository.collaborators[self.user(login).login] = permission
        if not empty:
            content = dict(files or {"README.md": f"# {name}\n"})
            repository.bare.commit_files(
                default_branch, content, "Initial commit\n", "forge", "forge@example.org", None
            )
        return repository

    def clone_url(self, full_name: str) -> str:
        """Without a credential: git asks for it."""
        return f"{self.url}/{full_name}.git"

    def hook(
        self,
        full_name: str,
        url: str,
        secret: str,
        *,
        events: tuple[str, ...] = EVENTS,
        content_type: str = "json",
    ) -> Hook:
        hook = add_hook(self.world, url, secret, list(events), content_type)
        self.world.repositories[full_name.lower()].hooks.append(hook)
        return hook

    def api_as(self, login: str) -> Person:
        """A person with a client of their own, for tests."""
        return Person(self.url, self.token(login), login, self)

    # trouble

    def fail_next(self, method: str, path: str, kind: Kind, times: int = 1, **more: Any) -> None:
        """The next `times` requests whose path matches fail: a status, "reset", "lost" or "slow". Method "*": any."""
        self.faults.plan(method, path, kind, times, **more)

    def limit_rate(self, requests: int, per_seconds: float = 60.0) -> None:
        """429 with Retry-After beyond that; 0 ends the limit."""
        self.faults.most, self.faults.per_seconds = requests, per_seconds
        self.faults.seen.clear()

    def down(self) -> None:
        """The port is closed; nothing is forgotten."""
        if self._server and self._thread:
            self._server.should_exit = self._server.force_exit = True
            self._thread.join(timeout=10)
            self._server = self._thread = None
            self._threads.shutdown(wait=False)

    def up(self) -> None:
        """Listening again, on the same port."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(128)
        self.port = listener.getsockname()[1]
        self.world.url = f"http://127.0.0.1:{self.port}"
        self._threads = ThreadPoolExecutor(16, thread_name_prefix="forge")
        config = uvicorn.Config(
            Application(self, self._threads),
            log_config=None,
            lifespan="off",
            access_log=False,
            loop="asyncio",
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="forge", daemon=True
        )
        self._thread.start()
        until = time.monotonic() + 10
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.002)

    # waiting

    def delivered(self, timeout_seconds: float = 30.0) -> list[Delivery]:
        """All webhooks so far, once their receivers have answered or not."""
        self.sender.wait(timeout_seconds)
        return self.deliveries

    def settle(self) -> None:
        """Ends every check of whether a pull request can be merged, at once."""
        with self.world.lock:
            for repository in self.world.repositories.values():
                for _, pull in repository.pulls():
                    settle(repository, pull, at_once=True)

    def signed_in(self, authorization: str) -> tuple[User | None, str | None, bool]:
        """(user, token, by password) of an Authorization header; no user where it fits nobody."""
        kind, _, value = authorization.partition(" ")
        if kind.lower() in ("token", "bearer"):
            token = self.world.tokens.get(value.strip())
            return (token.user, token.secret, False) if token else (None, None, False)
        if kind.lower() == "basic":
            name, _, secret = base64.b64decode(value).decode("utf-8", "replace").partition(":")
            for candidate in (secret, name):
                if token := self.world.tokens.get(candidate):
                    return token.user, token.secret, False
            user = self.world.users.get(name.lower())
            if user and user.password and user.password == secret:
                return user, None, True
        return None, None, False
