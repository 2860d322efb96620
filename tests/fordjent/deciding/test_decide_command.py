"""fordjent-decide, as a person runs it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.deliveries import FOLDER
from tests.support.office import BOT, REPOSITORY, Office

COMMAND = Path(__file__).resolve().parents[3] / "bin" / "fordjent-decide"


def decide(number: int, *options: str) -> subprocess.CompletedProcess[bytes]:
    [body] = FOLDER.glob(f"{number:03}-*.body.json")
    return run(body.read_bytes(), *options)


def run(body: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(COMMAND), *options], input=body, capture_output=True, timeout=60
    )


def actions(answer: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    assert answer.returncode == 0, answer.stderr
    return [json.loads(line) for line in answer.stdout.splitlines()]


def test_it_prints_an_action_a_line_without_configuration_or_database(place: Path) -> None:
    answer = decide(1)
    remember, feed = actions(answer)
    assert (remember["action"], feed["action"], feed["key"]) == ("remember", "feed", f"{REPOSITORY}/issues/1")
    assert b"write is assumed" in answer.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "options", "last"),
    [
        (1, ("--permission", "read"), "nothing"),
        (1, ("--require-role",), "guide"),
        (4, ("--labels-before", ""), "feed"),
        (4, ("--labels-before", "bug,role:implementer"), "nothing"),
        (9, (), "feed"),
        (9, ("--bot", "Fordjent"), "nothing"),
        (9, ("--ours",), "nothing"),
        (11, ("--bot", "fordjent"), "nothing"),
        (11, ("--bot", "fordjent", "--reviewer-login", "other"), "feed"),
        (51, ("--bot", "fordjent", "--assignees-before", "fordjent,bob"), "cancel"),
        (51, ("--bot", "fordjent", "--assignees-before", "bob"), "nothing"),
        (121, ("--head-message", "[agent-automation] x"), "nothing"),
    ],
)
def test_what_it_cannot_know_is_told_by_options(
    place: Path, number: int, options: tuple[str, ...], last: str
) -> None:
    if number == 121:
        body = json.loads(next(FOLDER.glob("121-*.body.json")).read_bytes())
        body["sender"] = body["pull_request"]["user"] = {"login": "bob"}
        answer = run(json.dumps(body).encode(), *options)
    else:
        answer = decide(number, *options)
    assert actions(answer)[-1]["action"] == last


def test_the_breaker_and_the_roles_too(place: Path) -> None:
    options = ("--bot", "fordjent", "--author-role", "tester", "--runs-last-hour", "12")
    feed = actions(decide(14, *options))[-1]
    assert feed["role"] == "tester"
    assert feed["not_before"] > 0
    assert actions(decide(14, *options[:-1], "11"))[-1]["not_before"] == 0
    assert actions(decide(8, "--session-role", "pm"))[-1]["role"] == "implementer"  # its label says so


def test_what_is_stored_is_read_and_nothing_is_written(place: Path) -> None:
    office = Office(place)
    try:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Add a greeting", labels=["ready"])

        async def work() -> bytes:
            async with office.open() as context:
                await office.decide(context)
                bob.label(REPOSITORY, 1, "bug")
                return (await asyncio.to_thread(office.forge.delivered))[-1].body

        body = asyncio.run(work())
        file = place / "config.toml"
        file.write_text(
            f'webhook.secret = "s3cret-of-tests"\nstate.dir = "state"\n'
            f'forgejo = {{ url = "{office.forge.url}", token = "{office.forge.token(BOT)}" }}\n'
            f'providers.main = {{ base_url = "scripted:none", model = "none" }}\n',
            "utf-8",
        )
        office.forge.down()
        before = (place / "state" / "fordjent.db").read_bytes()
        answer = run(body, "--event-type", "issue_label", "--config", str(file))
        assert actions(answer)[-1]["reason"] == "no label was set that starts anything"
        assert answer.stderr == b""
        assert (place / "state" / "fordjent.db").read_bytes() == before
    finally:
        office.forge.stop()


@pytest.mark.parametrize("body", [b"", b"{}", b'{"repository": {"full_name": "acme/widget"}}', b"\xff"])
def test_what_is_no_delivery_is_bad_data(place: Path, body: bytes) -> None:
    assert run(body).returncode == 65
