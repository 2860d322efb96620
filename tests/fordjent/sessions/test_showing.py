"""Labels and status comment are courtesy: where the forge fails on them, they come later and nothing waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from fordjent.context import Context
from fordjent.sessions import showing, timers
from fordjent.sessions.timers import Timers
from fordjent.store.schema import sessions as sessions_table
from tests.support.office import BOT, REPOSITORY, Office, session

ISSUE = f"{REPOSITORY}/issues/1"


@pytest.fixture
def office(place: Path) -> Iterator[Office]:
    office = Office(place)
    yield office
    office.forge.stop()


async def a_blocked_session(office: Office, context: Context) -> None:
    office.forge.api_as("bob").open_issue(REPOSITORY, "Add a greeting", "Print hello.")
    await office.decide(context)
    change = update(sessions_table).values(state="blocked", reason="Which?", changed_at=time.time())
    await context.database.write(lambda connection, values: connection.execute(change), None)


def said(office: Office) -> list[str]:
    comments = office.forge.api_as("bob").comments(REPOSITORY, 1)
    return [one["body"] for one in comments if one["user"]["login"] == BOT]


def tries(office: Office) -> int:
    return sum("/labels" in request.path for request in office.forge.log)


def test_what_the_forge_fails_to_show_is_shown_later(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with office.open() as context:
            await a_blocked_session(office, context)
            office.forge.fail_next("*", "/labels|/comments", 500, times=10_000)
            again = Timers(context)
            await again.show()
            failed = await session(context, ISSUE)
            assert failed and failed.shown != failed.look
            before = tries(office)
            await again.show()
            assert tries(office) == before  # not in a tight loop
            office.forge.faults.planned.clear()
            monkeypatch.setattr(timers, "SHOW_SECONDS", 0.0)
            await Timers(context).show()
            shown = await session(context, ISSUE)
            assert shown and shown.shown == shown.look
            assert len(said(office)) == 1 and "Which?" in said(office)[0]

    asyncio.run(story())


def test_a_status_comment_that_fails_leaves_the_labels_and_stops_nobody(office: Office) -> None:
    async def story() -> None:
        async with office.open() as context:
            await a_blocked_session(office, context)
            office.forge.fail_next("POST", "/comments", 500, times=10_000)
            assert not await showing.show(context, ISSUE)
            labels = office.forge.api_as("bob").do("GET", f"/repos/{REPOSITORY}/issues/1/labels")
            assert [one["name"] for one in labels] == ["blocked"]

    asyncio.run(story())
