"""The whole recording of a real forge, sent to the stand-in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.support.forge.bare import Bare
from tests.support.forge.people import Answered, Person
from tests.support.forge.refs import moved
from tests.support.forge.server import StandIn
from tests.support.hook_receiver import HookReceiver, Received
from tests.support.recordings import Json, plain, shape_differences, transcript, value_differences

# Made in one loop; of their deliveries only the first was kept in the recording.
NOT_RECORDED = tuple(f"Bulk {number}" for number in range(1, 58))

# Values (not shapes) that differ, with the reason.
OTHER_VALUES: dict[object, str] = {
    ".base.repo.open_pr_counter": "the forge had not counted the new pull request when it answered",
    ".head.repo.open_pr_counter": "the same",
    ".repository.size": "bytes on disk",
    (130, "[].stale"): "the forge had not looked at the push yet",
    ".message": "compared without its numbers",
}


@dataclass
class Replay:
    """The recorded requests sent to a stand-in, with the pushes in between that the transcript does not show."""

    forge: StandIn
    receiver: HookReceiver
    ids: dict[tuple[str, Any], Any] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    def run(self) -> None:
        for login, admin in (("alice", True), ("fordjent", False), ("bob", False)):
            self.forge.user(login, admin=admin)
        self.forge.world.checking_seconds = 3600.0
        hidden = between()
        for index, recorded in enumerate(transcript()):
            if index in hidden:
                hidden[index](self)
            answer = self.ask(recorded)
            self.compare(index, recorded, answer)
        branch = "refs/heads/fordjent/issue-1"
        self.quietly("acme/gadget", lambda bare: bare.git("update-ref", "refs/tags/v1", branch))
        self.quietly("acme/gadget", lambda bare: bare.git("update-ref", "-d", branch))
        self.forge.delivered()
        self.received = [one for one in self.receiver.received if title(one) not in NOT_RECORDED]

    def ask(self, recorded: Json) -> Answered:
        login = recorded.get("user")
        person = (
            self.forge.api_as(login)
            if login
            else Person(self.forge.url, "no-such-token", "nobody", self.forge)
        )
        return person.ask(recorded["method"], self.path(recorded["path"]), self.body(recorded.get("request")))

    def path(self, path: str) -> str:
        path = re.sub(r"[0-9a-f]{40}", lambda found: self.ids.get(("sha", found[0]), found[0]), path)
        for kind in ("comments", "reviews", "hooks", "labels"):
            path = re.sub(rf"(/{kind}/)(\d+)", partial(self.mine, kind), path)
        return path

    def mine(self, kind: str, found: re.Match[str]) -> str:
        return f"{found[1]}{self.ids[kind, int(found[2])]}"

    def body(self, body: Any) -> Any:
        if not isinstance(body, dict):
            return body
        body = json.loads(self.path(json.dumps(body)))
        if "labels" in body:
            body["labels"] = [self.ids.get(("labels", one), one) for one in body["labels"]]
        if "config" in body:
            body["config"]["url"] = self.receiver.url
        return body

    def compare(self, index: int, recorded: Json, answer: Answered) -> None:
        where = f"{index} {recorded['note']} {recorded['method']} {recorded['path']}"
        if answer.status != recorded["status"]:
            self.differences.append(f"{where}: {answer.status} for {recorded['status']}: {answer.body}")
            return
        expected, given = recorded["response"], answer.body
        if "response_count" in recorded:
            if len(given) != recorded["response_count"]:
                self.differences.append(f"{where}: {len(given)} for {recorded['response_count']}")
            given = given[:1]
        self.learn(expected, given)
        self.differences += [f"{where}: {key}: {said}" for key, said in shape_differences(expected, given)]
        for key, said in value_differences(expected, given):
            if (index, key) not in OTHER_VALUES and key not in OTHER_VALUES:
                self.differences.append(f"{where}: {key}: {said}")
        if answer.status >= 400 and plain(expected) != plain(given):
            self.differences.append(f"{where}: {given} for {expected}")
        self.compare_headers(where, recorded.get("headers", {}), answer.headers)

    def compare_headers(self, where: str, recorded: Json, given: dict[str, str]) -> None:
        found = {name.lower(): value for name, value in given.items()}
        for name, value in recorded.items():
            mine = found.get(name.lower(), "")
            mine = mine.replace(self.forge.url, "http://127.0.0.1:3456")
            if mine != value:
                self.differences.append(f"{where}: header {name}: {mine!r} for {value!r}")

    def learn(self, recorded: Any, given: Any) -> None:
        """The stand-in's ids and commits for the recorded ones."""
        if isinstance(recorded, list) and isinstance(given, list):
            for one, other in zip(recorded, given, strict=False):
                self.learn(one, other)
        elif isinstance(recorded, dict) and isinstance(given, dict):
            kind = kind_of(recorded)
            if kind and "id" in given:
                self.ids[kind, recorded["id"]] = given["id"]
            for key, value in recorded.items():
                if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{40}", value) and given.get(key):
                    self.ids.setdefault(("sha", value), given[key])
                self.learn(value, given.get(key))

    # what happened between the recorded requests

    def push(
        self, repository: str, branch: str, files: dict[str, str], message: str, recorded: str = ""
    ) -> None:
        sha = self.forge.api_as("fordjent").push(repository, branch, files, message)
        self.ids["sha", recorded] = sha

    def quietly(self, repository: str, change: Callable[[Bare], object]) -> None:
        """Refs changed by git alone, by the bot."""
        world = self.forge.world
        with world.lock:
            where = world.repositories[repository]
            before = where.bare.refs()
            change(where.bare)
            moved(world, self.forge.events, where, before, where.bare.refs(), world.users["fordjent"])


def between() -> dict[int, Callable[[Replay], None]]:
    """Index of a request to what happened before it."""
    widget, gadget = "acme/widget", "acme/gadget"

    def two_branches(replay: Replay) -> None:
        replay.push(widget, "fordjent/issue-2", {"hello.txt": "one\n"}, "one")
        replay.push(widget, "fordjent/issue-3", {"hello.txt": "two\n"}, "two")

    def more_issues(replay: Replay) -> None:
        for number in range(58):
            replay.forge.api_as("bob").open_issue(gadget, f"Bulk {number}")

    def another_repository(replay: Replay) -> None:
        gone = "refs/heads/fordjent/issue-3"
        replay.quietly(widget, lambda bare: bare.git("update-ref", "-d", gone))
        replay.forge.world.next_id("repository")

    last = "db7eb62022fe187b976692863ce00d87e9ac4beb"
    return {
        48: lambda it: it.push(widget, "fordjent/issue-1", {"hello.txt": "hello\n"}, "Add a greeting"),
        62: lambda it: it.forge.settle(),
        66: two_branches,
        72: lambda it: it.forge.settle(),
        88: another_repository,
        112: more_issues,
        116: lambda it: it.push(gadget, "fordjent/issue-1", {"a.txt": "a\n"}, "[agent-automation] a"),
        124: lambda it: it.push(gadget, "fordjent/issue-1", {"a.txt": "a\nb\n"}, "[agent-automation] b"),
        130: lambda it: it.push(
            gadget, "fordjent/issue-1", {"a.txt": "a\nb\nc\n"}, "[agent-automation] c", last
        ),
        142: lambda it: it.forge.settle(),
    }


def kind_of(recorded: Json) -> str:
    """Whose id it is, by the keys that only that kind has."""
    for key, kind in (
        ("issue_url", "comments"),
        ("official", "reviews"),
        ("branch_filter", "hooks"),
        ("exclusive", "labels"),
    ):
        if key in recorded:
            return kind
    return ""


def title(delivery: Received) -> str:
    return str(delivery.payload.get("issue", {}).get("title"))
