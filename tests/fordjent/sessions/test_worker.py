"""The worker: serial per key, parallel across keys up to a limit, and nothing lost when it ends."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import structlog
from sqlalchemy import Connection, insert

from fordjent.config import Config, Forgejo, Provider, Sessions, Webhook
from fordjent.context import Context
from fordjent.forge.forge import Forge
from fordjent.sessions import owner
from fordjent.sessions.worker import Control, Worker
from fordjent.store import runs, sessions, transitions
from fordjent.store.database import Database
from fordjent.store.schema import sessions as table
from fordjent.store.sessions import Session
from harness.errors import BadConfig, TryLater
from harness.redaction import Redactor


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    opened = Database.open(f"sqlite:///{place}/fordjent.db")
    yield opened
    opened.close()


@pytest.fixture
def context(database: Database) -> Context:
    return context_of(database)


def context_of(database: Database, **changed: Any) -> Context:
    config = Config(
        webhook=Webhook(secret="s3cret-of-tests"),
        forgejo=Forgejo(url="http://127.0.0.1:1", token="a-token-of-tests"),
        providers={"main": Provider(base_url="scripted:none", model="none")},
        sessions=Sessions(**{"max_sessions": 3, "shutdown_grace": "100ms", **changed}),
    )
    return Context(config, database, cast(Forge, None), Redactor(), structlog.get_logger())


def add(database: Database, number: int, **values: object) -> str:
    key = f"acme/widget/issues/{number}"
    row = {"key": key, "repository": "acme/widget", "kind": "issues", "number": number}
    row |= {"created_at": 1.0, "changed_at": 1.0, "ready_at": 10.0, "first_input_at": float(number)}
    database.submit(lambda connection: connection.execute(insert(table).values({**row, **values}))).result()
    return key


class Stand:
    """Runs nothing but notes who ran, and takes the input as a real run does."""

    def __init__(self, context: Context, work: Callable[[Session, Control], Awaitable[None]]) -> None:
        self.context = context
        self.work = work
        self.ran: Counter[str] = Counter()
        self.now: set[str] = set()
        self.most = 0

    async def __call__(self, session: Session, control: Control) -> None:
        assert session.key not in self.now
        self.now.add(session.key)
        self.ran[session.key] += 1
        self.most = max(self.most, len(self.now))
        try:
            await self.context.database.write(sessions.note, session.key, ready_at=None)
            await self.work(session, control)
        finally:
            self.now.discard(session.key)


@asynccontextmanager
async def working(worker: Worker) -> Any:
    stop = asyncio.Event()
    task = asyncio.create_task(worker.run(stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, 10)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


def test_beyond_max_sessions_they_wait_and_none_is_dropped(context: Context) -> None:
    keys = [add(context.database, number) for number in range(1, 21)]

    async def scenario() -> Stand:
        stand = Stand(context, lambda *_: asyncio.sleep(0.02))
        async with working(Worker(context, stand)):
            await until(lambda: sum(stand.ran.values()) == 20 and not stand.now)
        return stand

    stand = asyncio.run(scenario())
    assert stand.ran == Counter(keys) and stand.most == 3


def test_two_workers_share_the_work_and_none_is_done_twice(context: Context, place: Path) -> None:
    keys = [add(context.database, number) for number in range(1, 21)]
    other = context_of(Database.open(f"sqlite:///{place}/fordjent.db"))

    async def scenario() -> tuple[Stand, Stand]:
        stands = [Stand(each, lambda *_: asyncio.sleep(0.02)) for each in (context, other)]
        async with working(Worker(context, stands[0])), working(Worker(other, stands[1])):
            await until(lambda: sum(stands[0].ran.values()) + sum(stands[1].ran.values()) >= 20)
        return stands[0], stands[1]

    one, two = asyncio.run(scenario())
    other.database.close()
    assert one.ran + two.ran == Counter(keys) and one.ran and two.ran


def test_a_run_that_cannot_go_on_now_is_tried_again(context: Context) -> None:
    key = add(context.database, 1)

    async def scenario() -> Stand:
        async def work(_session: Session, _control: Control) -> None:
            if stand.ran[key] == 1:
                raise TryLater("the forge does not answer")

        stand = Stand(context, work)
        async with working(Worker(context, stand)):
            await until(lambda: stand.ran[key] == 2 and not stand.now)
        return stand

    assert asyncio.run(scenario()).ran[key] == 2


def test_a_bug_in_one_session_fails_that_one_alone(context: Context) -> None:
    bad, good = add(context.database, 1), add(context.database, 2)

    async def scenario() -> None:
        async def work(session: Session, _control: Control) -> None:
            await context.database.write(
                transitions.change, session.key, "working", "it was opened", time.time()
            )
            await context.database.write(runs.begin, session.key, "implementer", "builtin", time.time())
            if session.key == bad:
                raise ValueError("a bug")

        stand = Stand(context, work)
        worker = Worker(context, stand)
        async with working(worker):
            await until(lambda: stand.ran[bad] >= 1 and stand.ran[good] >= 1 and not worker.running)

    asyncio.run(scenario())
    failed = context.database.look(sessions.get, bad)
    assert failed and (failed.state, failed.failure) == ("failed", "error")
    assert context.database.look(runs.unfinished, bad) is None
    fine = context.database.look(sessions.get, good)
    assert fine and fine.state == "working"


def test_what_a_person_has_to_mend_is_the_reason_of_the_failure(context: Context) -> None:
    key = add(context.database, 1)

    async def scenario() -> None:
        async def work(session: Session, _control: Control) -> None:
            await context.database.write(
                transitions.change, session.key, "working", "it was opened", time.time()
            )
            raise BadConfig("prompts_dir: no folder", hint="make one")

        stand = Stand(context, work)
        worker = Worker(context, stand)
        async with working(worker):
            await until(lambda: stand.ran[key] >= 1 and not worker.running)

    asyncio.run(scenario())
    failed = context.database.look(sessions.get, key)
    assert failed and (failed.state, failed.reason) == ("failed", "prompts_dir: no folder (make one)")


def test_what_does_not_end_within_the_grace_goes_on_after_the_next_start(context: Context) -> None:
    key = add(context.database, 1)

    async def scenario(seconds: float) -> Stand:
        async def work(session: Session, _control: Control) -> None:
            await context.database.write(
                transitions.change, session.key, "working", "it was opened", time.time()
            )
            await asyncio.sleep(seconds)
            await context.database.write(
                transitions.change, session.key, "completed", "there it is", time.time()
            )

        stand = Stand(context, work)
        async with working(Worker(context, stand)):
            await until(lambda: stand.ran[key] == 1 and (seconds > 1 or not stand.now))
        return stand

    asyncio.run(scenario(60.0))
    left = context.database.look(sessions.get, key)
    assert left and (left.state, left.lease_owner) == ("working", "")
    asyncio.run(scenario(0.0))
    done = context.database.look(sessions.get, key)
    assert done and done.state == "completed"


def test_a_long_run_keeps_its_lease(context: Context, place: Path) -> None:
    key = add(context.database, 1)
    other = context_of(Database.open(f"sqlite:///{place}/fordjent.db"))

    async def scenario() -> tuple[Stand, Stand]:
        ended = asyncio.Event()

        async def work(session: Session, _control: Control) -> None:
            await context.database.write(
                transitions.change, session.key, "working", "it was opened", time.time()
            )
            await ended.wait()

        stands = [Stand(each, work) for each in (context, other)]
        workers = [Worker(each, stand, 0.4) for each, stand in zip((context, other), stands, strict=True)]
        async with working(workers[0]):
            await until(lambda: stands[0].ran[key] == 1)
            async with working(workers[1]):
                await asyncio.sleep(1.0)
                ended.set()
        return stands[0], stands[1]

    one, two = asyncio.run(scenario())
    other.database.close()
    assert (one.ran[key], two.ran[key]) == (1, 0)


def test_a_cancellation_reaches_the_run(context: Context) -> None:
    key = add(context.database, 1)
    heard = []

    async def scenario() -> None:
        async def work(session: Session, control: Control) -> None:
            await context.database.write(sessions.note, session.key, cancel="the issue was closed")
            await until(lambda: bool(control.cancelled))
            heard.append(control.cancelled)

        stand = Stand(context, work)
        async with working(Worker(context, stand)):
            await until(lambda: bool(heard))

    asyncio.run(scenario())
    assert heard == ["the issue was closed"] and key


def test_too_many_runs_within_an_hour_wait_for_its_end(context: Context) -> None:
    key, limit = add(context.database, 1), context.config.sessions.max_runs_per_hour

    def past(connection: Connection) -> None:
        for number in range(limit):
            run = runs.begin(connection, key, "implementer", "builtin", time.time() - 100 + number)
            runs.end(connection, run.id, "completed", "", time.time())

    context.database.submit(past).result()

    async def scenario() -> Stand:
        stand = Stand(context, lambda *_: asyncio.sleep(0))
        async with working(Worker(context, stand)):
            await until(lambda: (context.database.look(sessions.next_ready) or 0) > 11)
        return stand

    assert asyncio.run(scenario()).ran[key] == 0
    held = context.database.look(sessions.get, key)
    assert held and held.ready_at and 3400 < held.ready_at - time.time() < 3600


def test_an_owner_that_lives_is_not_taken_for_dead() -> None:
    assert not owner.is_dead(str(owner.mine()))
    assert owner.is_dead(str(owner.mine()._replace(pid=2**22 - 1)))
    assert owner.is_dead(str(owner.mine()._replace(started_at=1.0)))
    assert owner.is_dead(str(owner.mine()._replace(boot="another-boot")))
    assert not owner.is_dead(str(owner.mine()._replace(host="elsewhere", pid=2**22 - 1)))
    assert not owner.is_dead(f"nonsense {os.getpid()}")
