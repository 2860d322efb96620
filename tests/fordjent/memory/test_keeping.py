"""The server writes memory.jsonl by itself, what it missed too."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from fordjent.memory import keeping
from fordjent.memory.journal import Journal
from fordjent.memory.keeping import Keeper
from fordjent.models.messages import Message
from fordjent.session_key import SessionKey
from tests.support import remembered
from tests.support.proposals import Desk
from tests.support.scripts import ISSUE_TO_PULL
from tests.support.served import REPOSITORY, Served, until

KEY = "acme/widget/issues/1"


def lines(at: Desk, key: str = KEY) -> list[str]:
    return [entry.response for entry in Journal.of(at.config.state_dir, SessionKey.parse(key)).read()]


def test_what_changed_is_written_and_nothing_twice(at: Desk) -> None:
    database, keeper = at.context.database, Keeper(at.context)
    remembered.session(database, KEY)
    remembered.said(database, KEY, Message("assistant", "one"))
    assert at.run(keeper.write()) == 1 and at.run(keeper.write()) == 0
    remembered.said(database, KEY, Message("assistant", "two"))
    assert at.run(keeper.write()) == 1 and lines(at) == ["one", "two"]


def test_what_was_said_while_no_server_ran_is_written_at_the_next_start(at: Desk) -> None:
    database = at.context.database
    remembered.session(database, KEY)
    remembered.said(database, KEY, Message("assistant", "one"))
    at.run(Keeper(at.context).write())
    other = "acme/widget/issues/2"
    remembered.session(database, other, "completed", changed_at=time.time() - 1800)
    remembered.said(database, other, Message("assistant", "by another process"))
    assert at.run(Keeper(at.context).write()) == 1 and lines(at, other) == ["by another process"]


def test_a_disk_that_refuses_is_tried_again_and_harms_no_other_session(at: Desk) -> None:
    database, keeper = at.context.database, Keeper(at.context)
    for number in (1, 2):
        remembered.session(database, f"acme/widget/issues/{number}", "completed")
        remembered.said(database, f"acme/widget/issues/{number}", Message("assistant", "said"))
    at.run(keeper.write())
    remembered.said(database, KEY, Message("assistant", "more"))
    folder = Journal.of(at.config.state_dir, SessionKey.parse(KEY)).folder
    shutil.rmtree(folder)
    folder.write_text("in the way")
    remembered.said(database, "acme/widget/issues/2", Message("assistant", "more"))
    assert at.run(keeper.write()) == 1
    folder.unlink()
    at.context.database.submit(
        lambda connection: connection.exec_driver_sql("UPDATE sessions SET changed_at = 1.0")
    ).result()
    assert at.run(keeper.write()) == 2 and lines(at) == ["said", "more"]


def test_it_ends_when_it_is_told_with_everything_written(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "WRITE_SECONDS", 60.0)
    database = at.context.database
    remembered.session(database, KEY)

    async def live() -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(Keeper(at.context).run(stop))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(remembered.said, database, KEY, Message("assistant", "last words"))
        stop.set()
        await asyncio.wait_for(task, 10)

    at.run(live())
    assert lines(at) == ["last words"]


def test_a_session_from_issue_to_pull_request_is_remembered_over_a_kill(place: Path) -> None:
    with Served(place, ISSUE_TO_PULL) as served:
        served.start("gate-push")
        number = served.bob.open_issue(REPOSITORY, "Greet by name", "hello() should say the name.")
        until(lambda: served.has_ended, "killed")
        served.start()
        served.until_state(f"issues/{number}", "completed")
        assert served.stop() == 0
        key = SessionKey.parse(f"{REPOSITORY}/issues/{number}")
        found: list[Any] = list(Journal.of(place / "state", key).read())
        ids = [entry.event_id for entry in found]
        assert len(ids) == len(set(ids))
        assert [entry.response for entry in found if entry.response] == ["I look at what is there."]
        tools = [entry.tool_name for entry in found if entry.event_type == "tool_call"]
        assert tools[:4] == ["read_file", "write_file", "git", "git"] and "forgejo_create_pr" in tools
        (count,) = served.row("SELECT count(*) FROM tool_calls WHERE key = ?", str(key))[0]
        assert len(tools) == count
        [pull] = served.bob.pulls(REPOSITORY)
        bare = served.forge.world.repositories[REPOSITORY].bare
        assert "refs/notes/fordjent" in bare.refs() and pull["head"]["ref"] == "fordjent/issue-1"
