"""The server as a process: how it starts, refuses to, and ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.support import senders, server
from tests.support.server import ROOT, SECRET, Server

SERVE = ROOT / "bin/fordjent-serve"


def get(one: Server, path: str) -> int:
    connection = HTTPConnection(*one.address, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def deliver(one: Server, delivery: str) -> int:
    sent = senders.send(one.address, SECRET, [delivery], connections=1, seconds=10)
    return 200 if sent.acknowledged else int(sent.refused[0].split()[1])


def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def serve(config: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, SERVE, "--config", config]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("secret", ["", "change-me-in-production", "secret", " changeme "])
def test_without_a_usable_secret_it_refuses_to_start(place: Path, secret: str) -> None:
    refused = serve(server.write_config(place, secret=secret))
    assert refused.returncode == 78 and refused.stdout == ""
    assert "webhook.secret" in json.loads(refused.stderr)["message"]
    assert not (place / "state").exists()


def test_an_agent_that_is_none_is_named_at_the_start(place: Path) -> None:
    config = server.write_config(place)
    config.write_text(config.read_text().replace("[sessions]", '[sessions]\nagent_type = "nobody"'))
    refused = serve(config)
    assert refused.returncode == 78
    assert "nobody" in json.loads(refused.stderr)["message"]


def test_a_state_folder_that_cannot_be_made_is_named(place: Path) -> None:
    config = server.write_config(place)
    (place / "state").write_text("a file")
    refused = serve(config)
    assert refused.returncode == 78
    assert "state" in json.loads(refused.stderr)["message"]


def test_there_is_one_server_for_a_state_folder(place: Path) -> None:
    config = server.write_config(place)
    with server.started(config):
        refused = serve(config)
        assert refused.returncode == 75
        assert "in use by another process (pid " in json.loads(refused.stderr)["message"]


def test_an_address_that_is_taken_is_named(place: Path) -> None:
    with server.started(server.write_config(place)) as one:
        other = place / "other"
        other.mkdir()
        config = server.write_config(other)
        config.write_text(config.read_text().replace("port = 0", f"port = {one.address[1]}"))
        refused = serve(config)
    assert refused.returncode == 75
    said = json.loads(refused.stderr)
    assert said["code"] == "address_in_use" and str(one.address[1]) in said["message"]


def test_it_starts_and_is_healthy_while_forge_and_model_are_out_of_reach(place: Path) -> None:
    with server.started(server.write_config(place)) as one:
        assert get(one, "/healthz") == 200
        assert deliver(one, "d1") == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_takes_no_more_lets_what_runs_end_and_exits_0(place: Path, number: int) -> None:
    with server.started(server.write_config(place), "tests.support.parts:LATE") as one:
        assert deliver(one, "d1") == 200
        one.process.send_signal(number)
        until(lambda: deliver(one, "d2") == 503)
        assert one.process.wait(10) == 0
    log = one.log.read_text("utf-8")
    assert "has ended by itself" in log and '"ended"' in log


def test_what_does_not_end_in_its_time_is_cancelled(place: Path) -> None:
    config = server.write_config(place, grace="200ms")
    with server.started(config, "tests.support.parts:ENDLESS") as one:
        assert one.end() == 0
    assert "was cancelled" in one.log.read_text("utf-8")


def test_told_twice_it_ends_at_once(place: Path) -> None:
    config = server.write_config(place, grace="60s")
    with server.started(config, "tests.support.parts:ENDLESS") as one:
        one.process.send_signal(signal.SIGTERM)
        until(lambda: '"ending"' in one.log.read_text("utf-8"))
        begun = time.monotonic()
        assert one.end() == 128 + signal.SIGTERM
        assert time.monotonic() - begun < 30


def test_a_part_that_fails_ends_the_process_and_is_said_without_secrets(place: Path) -> None:
    """A supervisor starts it anew; half a server would look healthy for ever."""
    with server.started(server.write_config(place), "tests.support.parts:FAILING") as one:
        assert one.process.wait(10) == 70
    log = one.log.read_text("utf-8")
    assert "a fault of ours, with [redacted] in it" in log and "a-token-of-the-bot" not in log
    assert "Traceback" in log


def test_an_open_stream_does_not_hold_up_the_end(place: Path) -> None:
    with server.started(server.write_config(place)) as one:
        connection = HTTPConnection(*one.address, timeout=10)
        connection.request("GET", "/acp/v1/stream")
        stream = connection.getresponse()
        assert stream.readline().startswith(b": open")
        begun = time.monotonic()
        assert one.end() == 0
        assert time.monotonic() - begun < 15
        connection.close()
