"""The forge, the model or the disk is away for a minute: noticed, shown, survived, nothing lost, nothing repeated."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fordjent.test_soak import once, rules, sound
from tests.support.forge.people import Refused
from tests.support.model_endpoint import Does, ModelEndpoint, refuses, says
from tests.support.served import REPOSITORY, Served, until

SESSIONS = {
    "max_sessions": 4,
    "reconcile_interval": "5s",
    "max_retries": 2,
    "retry_delay": "15s",
    "max_runs_per_hour": 100,
}
SETTLE_SECONDS = 150.0
PHASE_SECONDS = 20.0
"""An outage is three of them, each of another kind."""


def not_ready(served: Served) -> str:
    """What /readyz says is missing; "": nothing."""
    try:
        with urllib.request.urlopen(f"{served.url}/readyz", timeout=15) as answer:
            return "" if answer.status == 200 else str(answer.status)
    except urllib.error.HTTPError as error:
        return error.read().decode("utf-8", "replace")


def until_not_ready(served: Served, what: str) -> None:
    until(lambda: what in not_ready(served), f"/readyz names {what}")


def finished(served: Served, numbers: list[int]) -> None:
    """All comes to its end by itself, once."""
    for number in numbers:
        served.until_state(f"issues/{number}", "completed", seconds=SETTLE_SECONDS)
    until(lambda: not_ready(served) == "", "/readyz is content")
    until(
        lambda: served.row("SELECT count(*) FROM events WHERE state != 'decided'") == [(0,)],
        "no event waits",
        SETTLE_SECONDS,
    )
    assert "Traceback" not in served.log
    assert served.stop() == 0
    once(served, numbers)
    sound(served)


@pytest.mark.stress
@pytest.mark.timeout(400)
def test_a_forge_that_is_away_for_a_minute(place: Path) -> None:
    with Served(place, rules(3), sessions=SESSIONS) as served:
        served.start()
        numbers = [served.bob.open_issue(REPOSITORY, f"Part {one}", "Add it.") for one in (1, 2, 3)]
        until(lambda: served.row("SELECT count(*) FROM runs") > [(0,)], "one is at work")
        for kind in ("reset", "slow", 502):
            served.forge.fail_next("*", "", kind, 100_000, seconds=PHASE_SECONDS)
            until_not_ready(served, "forge")
            time.sleep(PHASE_SECONDS)
            served.forge.faults.planned.clear()
        assert "not ready" in served.log
        finished(served, numbers)


CONVERSATION = (
    says("", ("write_file", {"path": "part_1.py", "content": "X = 2\n"})),
    says("", ("git", {"args": ["add", "-A"]}), ("git", {"args": ["commit", "-m", "Add part 1"]})),
    says("", ("forgejo_create_pr", {"title": "Add part 1", "body": "Closes #1"})),
    says("It is proposed."),
)


@pytest.mark.stress
@pytest.mark.timeout(400)
def test_a_model_that_is_away_for_a_minute(place: Path) -> None:
    away = (Does(way="reset"), Does(way="hang"), refuses(429, "slow down", Retry_After="2"), refuses(500))
    with ModelEndpoint(says("", ("read_file", {"path": "hello.py"}))) as model:
        more = '[providers.http]\nbase_url = "%s"\nmodel = "stand-in"\napi_key = "a-key-of-the-model"\n'
        more += 'timeout = "5s"\n[roles.implementer]\nprovider = "http"\n'
        with Served(place, [], sessions=SESSIONS, more=more % model.url) as served:
            served.start()
            served.bob.open_issue(REPOSITORY, "Part 1", "Add it.")
            until(lambda: len(model.requests) >= 1, "it is asked")
            for does in away:
                model.does = [does]
                time.sleep(PHASE_SECONDS * 3 / 4)
            reasons = [reason for (reason,) in served.row("SELECT reason FROM transitions")]
            assert any("model stand-in of provider http" in reason for reason in reasons)
            answered = len(model.requests)
            model.does = [CONVERSATION[0]] * answered + list(CONVERSATION)
            finished(served, [1])


@pytest.fixture
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of its own, with room above what counts as none."""
    disk = place / "state"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("a file system of its own needs root and mount")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filled").open("ab") as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
            file.flush()


@pytest.mark.stress
@pytest.mark.timeout(400)
def test_a_disk_that_is_full_for_a_minute(place: Path, small_disk: Path) -> None:
    with Served(place, rules(3), sessions=SESSIONS) as served:
        served.start()
        numbers = [served.bob.open_issue(REPOSITORY, f"Part {one}", "Add it.") for one in (1, 2)]
        until(lambda: served.row("SELECT count(*) FROM runs") > [(0,)], "one is at work")
        ends = time.monotonic() + 3 * PHASE_SECONDS
        fill(small_disk)
        until_not_ready(served, "database")
        with suppress(Refused, OSError):
            numbers.append(served.bob.open_issue(REPOSITORY, "Part 3", "Add it."))
        while time.monotonic() < ends:
            fill(small_disk)
            assert served.answers()
            time.sleep(1)
        assert "delivery not stored" in served.log, json.dumps(served.log[-3000:])
        (small_disk / "filled").unlink()
        finished(served, numbers)
