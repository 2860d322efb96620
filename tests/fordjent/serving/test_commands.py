"""fordjent-receive, fordjent-status and fordjent-replay, as programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import senders, server
from tests.support.server import ROOT

NAME = "001-issues-opened"


@pytest.fixture
def config(place: Path) -> Path:
    return server.write_config(place)


def run(
    config: Path, command: str, *words: str | Path, body: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, ROOT / "bin" / command, "--config", config, *words],
        input=body,
        capture_output=True,
        timeout=30,
    )


def answer(ran: subprocess.CompletedProcess[bytes]) -> Any:
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_delivery_is_received_once_shown_and_replayed(config: Path) -> None:
    given = ("--headers", senders.RECORDED / f"{NAME}.headers.json")
    first = answer(run(config, "fordjent-receive", *given, body=senders.body()))
    assert first["status"] == "accepted"
    again = answer(run(config, "fordjent-receive", *given, body=senders.body()))
    assert again == {"status": "duplicate", "event_id": first["event_id"]}
    shown = answer(run(config, "fordjent-status"))
    assert (
        shown["deliveries"]["accepted"] == shown["deliveries"]["duplicate"] == shown["queue"]["waiting"] == 1
    )
    delivery = json.loads((senders.RECORDED / f"{NAME}.headers.json").read_bytes())["X-Forgejo-Delivery"]
    replayed = answer(run(config, "fordjent-replay", delivery))
    assert replayed["delivery"] == delivery and "new event" in replayed["said"]
    assert answer(run(config, "fordjent-status"))["queue"]["waiting"] == 2


def test_a_form_and_options_do_as_well(config: Path) -> None:
    form = (senders.RECORDED / "044-issues.body.json").read_bytes()
    given = ("--headers", senders.RECORDED / "044-issues.headers.json")
    assert answer(run(config, "fordjent-receive", *given, body=form))["status"] == "accepted"
    options = ("--event", "issues", "--delivery", "by-hand")
    assert answer(run(config, "fordjent-receive", *options, body=senders.body()))["status"] == "accepted"
    assert (
        answer(run(config, "fordjent-receive", "--event", "wiki", body=senders.body()))["status"] == "ignored"
    )


@pytest.mark.parametrize(
    ("words", "body", "message"),
    [
        (["--event", "issues"], b"[]", "no JSON object"),
        ([], b"{}", "no X-Forgejo-Event"),
        (["--event", "issues"], b'{"repository": {"full_name": "x"}}', "owner/name"),
    ],
)
def test_what_the_server_would_reject_is_refused_with_65(
    config: Path, words: list[str], body: bytes, message: str
) -> None:
    refused = run(config, "fordjent-receive", *words, body=body)
    assert refused.returncode == 65 and message in json.loads(refused.stderr)["message"]


def test_a_replay_of_nothing_is_refused(config: Path) -> None:
    refused = run(config, "fordjent-replay", "nothing")
    assert refused.returncode == 65 and "no delivery 'nothing'" in json.loads(refused.stderr)["message"]


def test_headers_that_cannot_be_read_are_named(config: Path, place: Path) -> None:
    assert run(config, "fordjent-receive", "--headers", place / "none.json").returncode == 64
    (place / "bad.json").write_text("[]")
    refused = run(config, "fordjent-receive", "--headers", place / "bad.json")
    assert refused.returncode == 65 and "bad.json" in json.loads(refused.stderr)["message"]
