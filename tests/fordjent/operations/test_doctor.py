"""fordjent-doctor finds what would keep Fordjent from working, and names what mends it."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from email.utils import formatdate
from pathlib import Path

import pytest

from fordjent.context import Context
from fordjent.operations import examination, forge_checks, hook
from fordjent.operations.setting_up import ADMIN_TOKEN, SetUp
from harness.doctor.findings import Finding, exit_code
from tests.support.served import BOT, REPOSITORY, Served

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def served(place: Path) -> Iterator[Served]:
    with Served(place, []) as served:

        async def set_up() -> None:
            async with Context.open(served.config) as context:
                admin = context.forge.as_role(served.forge.token("alice"))
                await SetUp(context, REPOSITORY, url=served.url, admin=admin).run()

        asyncio.run(set_up())
        yield served


def examine(served: Served, *, admin: bool = True) -> tuple[int, dict[str, Finding]]:
    """Exit code, and findings by check: of several, the worst."""
    with pytest.MonkeyPatch.context() as patched:
        if admin:
            patched.setenv(ADMIN_TOKEN, served.forge.token("alice"))
        found = list(examination.examine(str(served.config_path)))
    order = ("ok", "warning", "problem")
    worst = {one.check: one for one in sorted(found, key=lambda one: order.index(one.status))}
    return exit_code(found), worst


def change(served: Served, old: str, new: str) -> None:
    text = served.config_path.read_text("utf-8")
    assert old in text
    served.config_path.write_text(text.replace(old, new), encoding="utf-8")


def test_all_is_well_beside_a_server_that_runs_and_a_test_delivery_arrives(served: Served) -> None:
    served.config_path.chmod(0o600)
    served.start()
    code, found = examine(served)
    assert code == 0, found
    assert "a test delivery arrived" in found["hook"].message
    for name in (
        "python",
        "git",
        "config",
        "database",
        "server",
        "disk",
        "forge",
        "forge_clock",
        "bot",
        "model",
    ):
        assert found[name].status == "ok", found[name]
    assert found[REPOSITORY].status == "ok"
    assert served.row("SELECT count(*) FROM sessions") == [(0,)]


def test_a_hook_that_leads_nowhere_names_the_forge_s_setting(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.start()
    hooks = served.forge.world.repositories[REPOSITORY].hooks
    hooks[:] = [one for one in hooks if one.secret]
    for one in hooks:
        one.url = "http://127.0.0.1:9/acp/v1/events"
    monkeypatch.setattr(forge_checks, "DELIVERY_SECONDS", 0.3)
    monkeypatch.setenv(ADMIN_TOKEN, served.forge.token("alice"))

    async def ask() -> list[str]:
        async with Context.open(served.config) as context:
            return [
                one.fix async for one in forge_checks.repository(context, REPOSITORY) if one.check == "hook"
            ]

    assert "ALLOWED_HOST_LIST" in asyncio.run(ask())[0]


def test_without_a_server_the_hook_is_not_tried(served: Served) -> None:
    code, found = examine(served)
    assert code == 0
    assert found["server"].status == "warning" and "no server runs" in found["hook"].message


def test_a_bot_that_may_not_look_at_hooks_says_how_that_is_tried(served: Served) -> None:
    code, found = examine(served, admin=False)
    assert code == 78 and found["hook"].fix == f"fordjent-setup {REPOSITORY}"
    served.start()
    served.alice.open_issue(REPOSITORY, "One", labels=["blocked"])
    served.forge.delivered()
    _, found = examine(served, admin=False)
    assert found["hook"].status == "ok" and ADMIN_TOKEN in found["hook"].message


def test_a_token_without_a_scope_is_a_problem_that_names_it(served: Served) -> None:
    narrow = served.forge.token(BOT, ("read:issue", "read:repository", "read:user", "read:organization"))
    change(served, served.forge.token(BOT), narrow)
    code, found = examine(served)
    assert code == 78 and "write:issue, write:repository" in found[REPOSITORY].message


def test_a_token_that_was_revoked_is_a_problem(served: Served) -> None:
    change(served, served.forge.token(BOT), "0" * 40)
    code, found = examine(served)
    assert code == 78 and "refuses" in found["token"].message
    assert "applications" in found["token"].fix


def test_a_role_s_token_that_was_revoked_is_a_problem_that_names_its_key(served: Served) -> None:
    with served.config_path.open("a", encoding="utf-8") as config:
        config.write(f'\n[roles.reviewer]\ntoken = "{"0" * 40}"\n')
    _, found = examine(served)
    assert "refuses" in found["roles.reviewer.token"].message
    assert "config.toml" in found["roles.reviewer.token"].fix


def test_labels_that_are_gone_are_told(served: Served) -> None:
    served.forge.world.repositories[REPOSITORY].labels.clear()
    _, found = examine(served)
    assert found[REPOSITORY].status == "warning" and "labels are missing" in found[REPOSITORY].message


def test_a_forge_that_is_away_is_a_problem_and_ends(served: Served) -> None:
    served.forge.down()
    code, found = examine(served)
    assert code == 78 and found["forge"].status == "problem"
    served.forge.up()


def test_a_model_that_does_not_answer_and_has_no_price_is_told(served: Served) -> None:
    change(
        served,
        'base_url = "scripted:model.json"\nmodel = "scripted"',
        'base_url = "http://127.0.0.1:9/v1"\nmodel = "of-my-own"',
    )
    code, found = examine(served)
    assert code == 78 and "cannot be reached" in found["model"].message
    assert "input_usd_per_million" in found["prices"].fix


def test_a_database_of_a_newer_version_is_a_problem(served: Served) -> None:
    with closing(sqlite3.connect(served.folder / "state/fordjent.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    code, found = examine(served)
    assert code == 78 and "9999" in found["database"].message


def test_a_damaged_database_is_a_problem(served: Served) -> None:
    path = served.folder / "state/fordjent.db"
    path.write_bytes(b"not a database at all" * 1000)
    for companion in path.parent.glob("fordjent.db-*"):
        companion.unlink()
    code, found = examine(served)
    assert code == 78 and found["database"].status == "problem"


def test_a_wrong_configuration_is_one_problem(served: Served) -> None:
    change(served, "[state]", "[state]\ncolour = 1")
    code, found = examine(served)
    assert code == 78 and "colour" in found["config"].message and "forge" not in found


def test_clocks_that_are_apart_are_told() -> None:
    now = time.time()
    assert forge_checks._clock(formatdate(now), now, now + 0.1).status == "ok"
    assert forge_checks._clock(formatdate(now + 120), now, now + 0.1).status == "problem"
    assert forge_checks._clock(formatdate(now - 120), now, now + 0.1).status == "problem"


def test_which_addresses_a_stock_forge_refuses() -> None:
    assert "loopback" in hook.refusal("http://localhost:8080/acp/v1/events")
    assert "loopback" in hook.refusal("http://127.0.0.1/acp/v1/events")
    assert "private" in hook.refusal("http://10.0.0.7/acp/v1/events")
    assert hook.refusal("https://fordjent.example.org/acp/v1/events") == ""


def test_a_program_that_is_missing_makes_69(served: Served) -> None:
    command = [sys.executable, str(ROOT / "bin/fordjent-doctor"), "--config", str(served.config_path)]
    empty = served.folder / "empty"
    empty.mkdir()
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PATH": str(empty)}, timeout=100)
    assert done.returncode == 69 and done.stderr == b""
    assert all(json.loads(line)["check"] for line in done.stdout.splitlines())
