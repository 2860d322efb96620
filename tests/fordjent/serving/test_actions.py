"""What an administrator does on the pages: only by a form of ours, and the worker heeds it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from sqlalchemy import Connection, select

from fordjent.context import Context
from fordjent.intake.receiver import Receiver
from fordjent.intake.rejections import Rejections
from fordjent.serving import app
from fordjent.sessions.worker import Control, Worker
from fordjent.store import inputs, pausing
from fordjent.store import sessions as stored
from fordjent.store.schema import sessions
from fordjent.store.sessions import Session
from tests.support import busy_state, context
from tests.support.busy_state import REPOSITORY

TOKEN = "a-long-admin-token"
WORKING, WAITING, BLOCKED, FAILED, CREATED = (f"{REPOSITORY}/issues/{number}" for number in (1, 3, 4, 5, 10))


class Office:
    """A browser before the pages of a filled database, with the administrator's login or without."""

    def __init__(self, shared: Context, browser: httpx2.AsyncClient) -> None:
        self.context = shared
        self.browser = browser

    async def form_token(self, path: str = "/admin") -> str:
        found = re.search(r'name="form_token" value="(\w+)"', (await self.browser.get(path)).text)
        assert found
        return found[1]

    async def post(
        self,
        path: str,
        *,
        form_token: str | None = None,
        headers: dict[str, str] | None = None,
        **fields: str,
    ) -> httpx2.Response:
        given = await self.form_token() if form_token is None else form_token
        return await self.browser.post(path, data={"form_token": given, **fields}, headers=headers or {})

    def session(self, key: str) -> Session:
        found = self.context.database.look(stored.get, key)
        assert found
        return found


def at_work(
    place: Path, scenario: Callable[[Office], Any], *, token: str = TOKEN, logged_in: bool = True
) -> None:
    async def go() -> None:
        with context.opened(place, server=f'admin_token = "{token}"' if token else "") as shared:
            shared.database.submit(busy_state.fill, time.time()).result(20)
            rejections = Rejections(shared.database)
            made = app.make(shared, Receiver(shared, rejections), rejections, asyncio.Event())
            transport = httpx2.ASGITransport(app=made, client=("127.0.0.1", 50000))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as browser:
                if logged_in and token:
                    await browser.post("/login", data={"token": token})
                await scenario(Office(shared, browser))

    asyncio.run(go())


def test_a_session_is_stopped_tried_again_and_unblocked(place: Path) -> None:
    async def scenario(office: Office) -> None:
        done = await office.post(f"/trace/{WORKING}/stop", back=f"/trace/{WORKING}")
        assert (done.status_code, done.headers["location"]) == (303, f"/trace/{WORKING}")
        assert office.session(WORKING).cancel == "stopped by an administrator"
        await office.post(f"/trace/{FAILED}/retry")
        again = office.session(FAILED)
        assert again.ready_at is not None and again.ready_at <= time.time() and again.failures == 0
        told = office.context.database.look(inputs.waiting, FAILED)
        assert [(one.kind, one.author) for one in told] == [("retry", "an administrator")]
        await office.post(f"/trace/{BLOCKED}/unblock")
        assert office.session(BLOCKED).ready_at is not None
        await office.post(f"/trace/{CREATED}/stop")
        assert office.session(CREATED).ready_at is None

    at_work(place, scenario)


def test_what_makes_no_sense_is_refused_and_changes_nothing(place: Path) -> None:
    async def scenario(office: Office) -> None:
        for path, status in (
            (f"/trace/{WORKING}/retry", 409),
            (f"/trace/{FAILED}/stop", 409),
            (f"/trace/{WAITING}/unblock", 409),
            (f"/trace/{FAILED}/explode", 409),
            (f"/trace/{REPOSITORY}/issues/99/stop", 404),
            ("/trace/acme/widget/wiki/1/stop", 400),
        ):
            assert (await office.post(path)).status_code == status, path
        assert (await office.browser.get("/admin/pause")).status_code == 405

    def all_rows(connection: Connection) -> list[Any]:
        return list(connection.execute(select(sessions)).all())

    async def unchanged(office: Office) -> None:
        before = office.context.database.look(all_rows)
        await scenario(office)
        assert office.context.database.look(all_rows) == before

    at_work(place, unchanged)


@pytest.mark.parametrize("token", [TOKEN, ""])
def test_a_form_of_another_site_is_refused(place: Path, token: str) -> None:
    async def scenario(office: Office) -> None:
        right = await office.form_token()
        for given, headers in (
            ("", {}),
            ("0" * 64, {}),
            (right, {"Sec-Fetch-Site": "cross-site"}),
            (right, {"Sec-Fetch-Site": "same-site"}),
        ):
            refused = await office.post("/admin/pause", form_token=given, headers=headers)
            assert refused.status_code == 403 and "page of ours" in refused.json()["error"]
        assert office.context.database.look(pausing.current) is None
        assert (
            await office.post("/admin/pause", headers={"Sec-Fetch-Site": "same-origin"})
        ).status_code == 303

    at_work(place, scenario, token=token)


def test_the_token_of_one_login_is_none_for_another(place: Path) -> None:
    async def scenario(office: Office) -> None:
        first = await office.form_token()
        value = f"{int(time.time()) + 1000}"
        office.browser.cookies.clear()
        assert (await office.post("/admin/pause", form_token=first)).status_code == 401
        office.browser.cookies.set("fordjent", value)
        assert (await office.post("/admin/pause", form_token=first)).status_code == 401

    at_work(place, scenario)


def test_a_program_with_the_token_needs_no_form(place: Path) -> None:
    async def scenario(office: Office) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert (
            await office.post("/admin/pause", form_token="", headers=headers, reason="a release")
        ).status_code == 303
        found = office.context.database.look(pausing.current)
        assert found and (found.reason, found.interrupts) == ("a release", False)

    at_work(place, scenario, logged_in=False)


def test_nobody_acts_without_a_login(place: Path) -> None:
    async def scenario(office: Office) -> None:
        for path in ("/admin/pause", "/admin/resume", f"/trace/{FAILED}/retry", "/logout"):
            assert (await office.post(path, form_token="x")).status_code == 401

    at_work(place, scenario, logged_in=False)


def test_a_form_leads_to_no_other_site_and_a_long_one_is_not_read(place: Path) -> None:
    async def scenario(office: Office) -> None:
        for back in ("https://evil.example.org", "//evil.example.org", "/admin\\evil", "/adminx\n"):
            done = await office.post("/admin/pause", back=back)
            assert done.headers["location"].startswith("/admin") and "evil" not in done.headers["location"]
        assert (await office.post("/admin/pause", reason="x" * 5000)).status_code == 413

    at_work(place, scenario)


def test_who_guesses_has_to_wait(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.pages.guard.GUESSES", 3)

    async def scenario(office: Office) -> None:
        statuses = [
            (await office.browser.post("/login", data={"token": "wrong"})).status_code for _ in range(4)
        ]
        assert statuses == [401, 401, 401, 429]
        assert (await office.browser.post("/login", data={"token": TOKEN})).status_code == 429

    at_work(place, scenario, logged_in=False)


def test_a_logout_takes_the_cookie(place: Path) -> None:
    async def scenario(office: Office) -> None:
        done = await office.post("/logout")
        assert done.status_code == 303 and "Max-Age=0" in done.headers["set-cookie"]

    at_work(place, scenario)


# ---- the worker


def _ready(connection: Connection, key: str) -> None:
    from fordjent.deciding.actions import Input

    told = Input(kind="comment", source="comment:1", text="Please.")
    inputs.feed(connection, key, "implementer", told, None, time.time(), 0.0)


@pytest.mark.parametrize("interrupts", [True, False])
def test_a_pause_begins_nothing_and_what_was_broken_off_goes_on_after_it(
    place: Path, interrupts: bool
) -> None:
    first, second = f"{REPOSITORY}/issues/101", f"{REPOSITORY}/issues/102"
    begun: list[str] = []
    broken: list[str] = []
    may_end = asyncio.Event()

    async def runner(session: Session, _control: Control) -> None:
        begun.append(session.key)
        try:
            await may_end.wait()
        except asyncio.CancelledError:
            broken.append(session.key)
            raise
        await shared.database.write(inputs.close, session.key)

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.01)

    async def scenario() -> None:
        stop = asyncio.Event()
        worker = asyncio.create_task(Worker(shared, runner).run(stop))
        await shared.database.write(_ready, first)
        shared.bus.woke("sessions")
        await until(lambda: begun == [first])
        await shared.database.write(pausing.begin, "", interrupts, time.time())
        await shared.database.write(_ready, second)
        shared.bus.woke("sessions")
        if interrupts:
            await until(lambda: broken == [first])
        else:
            await asyncio.sleep(0.3)
            assert broken == []
        may_end.set()
        await asyncio.sleep(0.3)
        assert begun == [first]
        await shared.database.write(pausing.end)
        shared.bus.woke("sessions")
        await until(lambda: begun[1:] == ([first, second] if interrupts else [second]))
        stop.set()
        await worker

    with context.opened(place) as shared:
        asyncio.run(scenario())


def test_what_is_logged_in_a_run_says_of_which_session_it_is(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fordjent.config import Log
    from fordjent.serving import logs

    async def runner(session: Session, _control: Control) -> None:
        shared.context.log.info("at work")
        await shared.context.database.write(inputs.close, session.key)
        shared.ended.set()

    async def scenario() -> None:
        stop = asyncio.Event()
        worker = asyncio.create_task(Worker(shared.context, runner).run(stop))
        async with asyncio.timeout(20):
            await shared.ended.wait()
        shared.context.log.info("beside it")
        stop.set()
        await worker

    with context.opened(place) as opened:
        shared = _Shared(opened)
        logs.begin(Log(format="json"), opened.redactor, sys.stderr)
        try:
            opened.database.submit(_ready, f"{REPOSITORY}/issues/101").result(10)
            asyncio.run(scenario())
        finally:
            structlog.reset_defaults()
            logging.basicConfig(force=True)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    at_work, beside = (
        next(one for one in lines if one["event"] == event) for event in ("at work", "beside it")
    )
    assert (at_work["key"], at_work["role"]) == (f"{REPOSITORY}/issues/101", "implementer")
    assert "key" not in beside


class _Shared:
    def __init__(self, opened: Context) -> None:
        self.context = opened
        self.ended = asyncio.Event()
