"""fordjent-setup makes a repository ready, mends what is there, and can be run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fordjent.operations.setting_up import ADMIN_TOKEN, LABELS
from tests.support.served import BOT, REPOSITORY, Served

ROOT = Path(__file__).resolve().parents[3]
URL = "https://fordjent.example.org"
HOOK = f"{URL}/acp/v1/events"


@pytest.fixture
def served(place: Path) -> Iterator[Served]:
    with Served(place, []) as served:
        served.forge.world.repositories[REPOSITORY].hooks.clear()
        yield served


def run(served: Served, *words: str, admin: str = "alice") -> tuple[int, dict[str, dict[str, str]], str]:
    """Exit code, findings by check, stderr."""
    token = {ADMIN_TOKEN: served.forge.token(admin)} if admin else {}
    command = [sys.executable, str(ROOT / "bin/fordjent-setup"), "--config", str(served.config_path), *words]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **token}, timeout=60)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, {one["check"]: one for one in found}, done.stderr.decode()


def hooks(served: Served) -> list[Any]:
    return served.forge.world.repositories[REPOSITORY].hooks


def test_a_repository_is_made_ready_once(served: Served) -> None:
    code, found, _ = run(served, "--url", URL, REPOSITORY)
    assert code == 0, found
    (hook,) = hooks(served)
    assert (hook.url, hook.content_type, hook.active) == (HOOK, "json", True)
    assert hook.secret == served.config.webhook.secret
    there = {label.name for label in served.forge.world.repositories[REPOSITORY].labels}
    assert there >= set(LABELS)
    assert served.row("SELECT name, default_branch FROM repositories") == [(REPOSITORY, "main")]

    again, found, _ = run(served, "--url", URL + "/", REPOSITORY)
    assert again == 0 and len(hooks(served)) == 1
    assert "as it must be" in found["hook"]["message"] and "all" in found["labels"]["message"]
    assert served.row("SELECT count(*) FROM repositories") == [(1,)]


def test_a_hook_that_is_off_or_doubled_is_mended(served: Served) -> None:
    for _ in range(2):
        served.forge.hook(REPOSITORY, HOOK, "an old secret", events=("issues",), content_type="form")
    served.forge.hook(REPOSITORY, "https://elsewhere.example.org/", "theirs")
    hooks(served)[0].active = False
    code, found, _ = run(served, "--url", URL, REPOSITORY)
    assert code == 0, found
    for said in ("not active", "sends form", "lacks", "2 times"):
        assert said in found["hook"]["message"]
    ours, others = hooks(served)
    assert (ours.content_type, ours.active, ours.secret) == ("json", True, served.config.webhook.secret)
    assert "push" in ours.events and others.secret == "theirs"


def test_the_bot_is_made_a_collaborator(served: Served) -> None:
    del served.forge.world.repositories[REPOSITORY].collaborators[BOT]
    code, found, _ = run(served, "--url", URL, REPOSITORY)
    assert code == 0, found
    assert served.forge.world.repositories[REPOSITORY].collaborators[BOT] == "write"


def test_a_bot_that_does_not_administrate_says_who_must(served: Served) -> None:
    code, found, _ = run(served, "--url", URL, REPOSITORY, admin="")
    assert code == 78
    assert found["hook"]["status"] == "problem" and ADMIN_TOKEN in found["hook"]["fix"]
    assert found["labels"]["status"] == "ok"
    assert hooks(served) == []


def test_an_address_that_a_stock_forge_refuses_names_the_setting(served: Served) -> None:
    code, found, _ = run(served, "--url", "http://192.168.1.7:8080", REPOSITORY)
    assert code == 0
    assert found["hook"]["status"] == "warning"
    assert "ALLOWED_HOST_LIST = external,private" in found["hook"]["fix"]


def test_old_work_is_begun_only_when_adopted(served: Served) -> None:
    served.alice.open_issue(REPOSITORY, "Old")
    run(served, "--url", URL, REPOSITORY)
    assert served.row("SELECT count(*) FROM events") == [(0,)]
    code, found, _ = run(served, "--url", URL, "--adopt", REPOSITORY)
    assert code == 0 and found["adopt"]["message"].startswith("1 ")
    assert served.row("SELECT repository, number, kind FROM events") == [(REPOSITORY, 1, "issues")]


def test_a_repository_that_is_not_there_is_a_problem_and_nothing_is_stored(served: Served) -> None:
    code, found, _ = run(served, "--url", URL, "acme/gone")
    assert code == 78 and found["repository"]["status"] == "problem"
    assert served.row("SELECT count(*) FROM repositories") == [(0,)]


def test_names_and_addresses_are_looked_at_first(served: Served) -> None:
    assert run(served, "--url", URL, "../etc")[0] == 64
    code, _, said = run(served, REPOSITORY)
    assert code == 64 and "server.public_url" in said


def test_a_forge_that_is_away_is_for_later(served: Served) -> None:
    served.forge.fail_next("*", "", "reset", times=100)
    code, _, said = run(served, "--url", URL, REPOSITORY)
    assert code == 75, said
