"""The stand-in forge answers and sends what the real one answered and sent: the whole recording, replayed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.forge import StandIn
from tests.support.forge.bare import Bare
from tests.support.forge.people import Answered, Person
from tests.support.forge.refs import moved
from tests.support.forge.swagger import RECORDED
from tests.support.hook_receiver import HookReceiver, Received, signatures_fit

SECRET = "s3cret-for-fixtures"

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
OF_ONE_SERVER = re.compile(
    r"(^|\.)(\w*id|\w*sha|\w*_at|\w*url|created|date|timestamp|merge_base|last_commit_when|size|git|self|html)$"
)

Json = dict[str, Any]


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
        for index, recorded in enumerate(transcript()):
            BEFORE.get(index, lambda replay: None)(self)
            answer = self.ask(recorded)
            self.compare(index, recorded, answer)
        branch = "refs/heads/fordjent/issue-1"
        self.quietly("acme/gadget", lambda bare: bare.git("update-ref", "refs/tags/v1", branch))
        self.quietly("acme/gadget", lambda bare: bare.git("update-ref", "-d", branch))
        self.forge.delivered()

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


BEFORE = between()


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    with HookReceiver() as receiver, StandIn.start(tmp_path_factory.mktemp("a plàce")) as forge:
        replay = Replay(forge, receiver)
        replay.run()
        hidden = [one for one in receiver.received if title(one) in NOT_RECORDED]
        assert len(hidden) == len(NOT_RECORDED)
        replay.received = [one for one in receiver.received if one not in hidden]
        yield replay


def test_every_recorded_request_gets_the_recorded_answer(replay: Replay) -> None:
    assert len(transcript()) == 151
    assert replay.differences == []


def test_nothing_that_was_recorded_is_strange(replay: Replay) -> None:
    assert replay.forge.strange == []


@pytest.mark.parametrize("family", ["refs", "issues and pull requests"])
def test_the_deliveries_come_in_the_recorded_order(replay: Replay, family: str) -> None:
    """Pushes are told of by a queue of their own, so the two kinds are not in order among each other."""

    def names(found: list[Received]) -> list[tuple[str, str, str]]:
        about_refs = ("push", "create", "delete")
        return [
            (one.event_type, str(one.payload.get("action", "")), one.headers["content-type"])
            for one in found
            if (one.event_type in about_refs) == (family == "refs")
        ]

    assert names(replay.received) == names(deliveries())


def test_the_deliveries_have_the_recorded_headers_and_payloads(replay: Replay) -> None:
    """The n-th of each type against the n-th recorded one."""
    differences = []
    for kind, mine, recorded in pairs(replay.received, deliveries()):
        if mine.event != recorded.event:
            differences.append(f"{kind}: event {mine.event} for {recorded.event}")
        if list(mine.headers) != list(recorded.headers):
            differences.append(f"{kind}: headers {list(mine.headers)} for {list(recorded.headers)}")
        if list(mine.payload) != list(recorded.payload):
            differences.append(f"{kind}: keys {list(mine.payload)} for {list(recorded.payload)}")
        differences += [
            f"{kind}: {key}: {said}" for key, said in shape_differences(recorded.payload, mine.payload)
        ]
    assert differences == []


def test_deliveries_are_signed_and_numbered(replay: Replay) -> None:
    received = replay.received
    assert all(signatures_fit(one, SECRET) for one in received)
    assert all(signatures_fit(one, SECRET) for one in deliveries())
    assert not any(signatures_fit(one, "another") for one in received)
    ids = {one.headers["x-forgejo-delivery"] for one in received}
    assert len(ids) == len(received) == len(deliveries())


def title(delivery: Received) -> str:
    return str(delivery.payload.get("issue", {}).get("title"))


def transcript() -> list[Json]:
    return list(json.loads((RECORDED / "api-transcript.json").read_text("utf-8")))


def deliveries() -> list[Received]:
    found = []
    for path in sorted((RECORDED / "deliveries").glob("*.body.json")):
        headers = json.loads(Path(str(path).replace(".body.", ".headers.")).read_text("utf-8"))
        found.append(Received.read(headers, path.read_bytes()))
    return found


def pairs(mine: list[Received], recorded: list[Received]) -> Iterator[tuple[str, Received, Received]]:
    def kind(one: Received) -> str:
        return f"{one.event_type} {one.payload.get('action', '')} {one.headers['content-type']}"

    for name in dict.fromkeys(kind(one) for one in recorded):
        yield from (
            (name, one, other)
            for one, other in zip(
                [one for one in mine if kind(one) == name],
                [one for one in recorded if kind(one) == name],
                strict=True,
            )
        )


def value_differences(recorded: Any, given: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Values that are not ids, times or addresses, and yet not equal."""
    if isinstance(recorded, dict) and isinstance(given, dict):
        for name in recorded.keys() & given.keys():
            yield from value_differences(recorded[name], given[name], f"{key}.{name}")
    elif isinstance(recorded, list) and isinstance(given, list):
        for one, other in zip(recorded, given, strict=False):
            yield from value_differences(one, other, f"{key}[]")
    elif recorded != given and not OF_ONE_SERVER.search(key):
        yield key, f"{given!r:.120} for {recorded!r:.120}"


def plain(refusal: Json) -> str:
    """What the forge said, without the numbers and the port of one server."""
    return re.sub(
        r"[0-9]+", "N", json.dumps([refusal.get("message"), refusal.get("errors"), refusal.get("url")])
    )


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


def shape_differences(recorded: Any, given: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Keys that only one side has, and values of another JSON type."""
    if type(recorded) is not type(given):
        yield key, f"{given!r:.120} for {recorded!r:.120}"
    elif isinstance(recorded, dict):
        for name in sorted(set(recorded) ^ set(given)):
            yield f"{key}.{name}", "only recorded" if name in recorded else "not recorded"
        for name in recorded.keys() & given.keys():
            yield from shape_differences(recorded[name], given[name], f"{key}.{name}")
    elif isinstance(recorded, list):
        if len(recorded) != len(given):
            yield key, f"{len(given)} for {len(recorded)}: {given!r:.200}"
        for one, other in zip(recorded, given, strict=False):
            yield from shape_differences(one, other, f"{key}[]")
