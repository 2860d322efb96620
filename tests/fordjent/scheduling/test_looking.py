"""Issues that wait for others, beside a stand-in forge: when they begin, what is labelled and said, and how often."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert

from fordjent.context import Context
from fordjent.deciding.dispatcher import OWN
from fordjent.deciding.questions import Questions
from fordjent.scheduling import looking
from fordjent.sessions.timers import Timers
from fordjent.store import inputs, sessions, transitions, waiting_issues
from fordjent.store.schema import runs
from tests.support.office import BOT, REPOSITORY, Office, in_state, session, told

LOOKS = 10


@pytest.fixture
def office(place: Path) -> Iterator[Office]:
    office = Office(place)
    yield office
    office.forge.stop()


def run(office: Office, work: Callable[[Context], Awaitable[None]]) -> None:
    async def inside() -> None:
        async with office.open() as context:
            await work(context)

    asyncio.run(inside())


async def settle(office: Office, context: Context) -> None:
    """Everything decided and looked at, and what comes of that too."""
    for _ in range(LOOKS):
        await office.decide(context, OWN)
        if not await office.arrive(context):
            assert await in_state(context, "parked") == 0
            return
        await office.decide(context, OWN)
    raise AssertionError("it never comes to rest")


async def begun(context: Context, number: int) -> bool:
    made = await session(context, key(number))
    return made is not None and made.ready_at is not None


def key(number: int) -> str:
    return f"{REPOSITORY}/issues/{number}"


def said(office: Office, number: int, repository: str = REPOSITORY) -> list[str]:
    comments = office.forge.api_as("bob").comments(repository, number)
    return [one["body"] for one in comments if one["user"]["login"] == BOT]


def labels(office: Office, number: int) -> list[str]:
    return office.forge.api_as("bob").labels(REPOSITORY, number)


def test_an_issue_waits_for_the_open_one_that_it_names_and_begins_once_that_is_closed(office: Office) -> None:
    """An open issue that is no pull request holds."""

    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "The parser")
        bob.open_issue(REPOSITORY, "The printer", "It prints.\n\nDepends on: #1")
        await settle(office, context)
        assert await begun(context, 1) and not await begun(context, 2)
        assert (labels(office, 1), labels(office, 2)) == ([], ["blocked"])
        bob.close(REPOSITORY, 1)
        await settle(office, context)
        assert await begun(context, 2)
        assert labels(office, 2) == ["ready"]
        assert [one.source for one in await told(context, key(2))] == ["opened"]
        assert "It prints." in (await told(context, key(2)))[0].text
        assert said(office, 2) == []
        before = len(office.forge.log)
        await looking.look(context, REPOSITORY)
        assert len(office.forge.log) == before  # nothing waits: nothing is asked

    run(office, work)


def test_native_dependencies_count_besides_those_in_the_text(office: Office) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        for title in ("One", "Two"):
            bob.open_issue(REPOSITORY, title)
        bob.open_issue(REPOSITORY, "Three", "Depends on #1")
        bob.depend(REPOSITORY, 3, 2)
        await settle(office, context)
        bob.close(REPOSITORY, 1)
        await settle(office, context)
        assert not await begun(context, 3)
        waiting = await context.database.read(waiting_issues.of_key, key(3))
        assert waiting and waiting.waits_for == (2,)
        bob.close(REPOSITORY, 2)
        await settle(office, context)
        assert await begun(context, 3)

    run(office, work)


def test_a_pull_request_is_done_when_it_is_merged_and_one_closed_without_that_is_said_once(
    office: Office,
) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.push(REPOSITORY, "a", {"a.txt": "a"})
        bob.push(REPOSITORY, "b", {"b.txt": "b"})
        merged, dropped = bob.open_pull(REPOSITORY, "a", "A"), bob.open_pull(REPOSITORY, "b", "B")
        first = bob.open_issue(REPOSITORY, "After A", f"Depends on #{merged}")
        second = bob.open_issue(REPOSITORY, "After B", f"Depends on #{dropped}")
        await settle(office, context)
        assert not await begun(context, first) and not await begun(context, second)
        bob.merge(REPOSITORY, merged)
        bob.close(REPOSITORY, dropped)
        await settle(office, context)
        assert await begun(context, first) and not await begun(context, second)
        for _ in range(3):
            await looking.look(context, REPOSITORY)
        (text,) = said(office, second)
        assert f"#{dropped} was closed without being merged" in text
        assert labels(office, second) == ["blocked"]
        bob.reopen(REPOSITORY, dropped)
        bob.merge(REPOSITORY, dropped)
        await settle(office, context)
        assert await begun(context, second)

    run(office, work)


def test_what_others_blocked_is_not_freed(office: Office) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One")
        bob.open_issue(REPOSITORY, "Two", "Depends on #1", labels=["blocked"])
        bob.open_issue(REPOSITORY, "Three", labels=["blocked"])
        await settle(office, context)
        bob.close(REPOSITORY, 1)
        await settle(office, context)
        assert labels(office, 2) == labels(office, 3) == ["blocked"]
        assert not await begun(context, 2) and not await begun(context, 3)

    run(office, work)


def test_a_persons_own_label_holds_what_is_ready_besides(office: Office) -> None:
    """It was there before we could set ours."""

    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One")
        bob.open_issue(REPOSITORY, "Two", "Depends on #1")

        async def nothing(*_: object) -> None:
            bob.label(REPOSITORY, 2, "blocked")

        await office.decide(context, {"schedule": nothing})
        await settle(office, context)
        bob.close(REPOSITORY, 1)
        await settle(office, context)
        await looking.look(context, REPOSITORY)
        assert labels(office, 2) == ["blocked"] and not await begun(context, 2)
        bob.unlabel(REPOSITORY, 2, "blocked")
        await settle(office, context)
        assert await begun(context, 2)

    run(office, work)


def test_a_person_begins_one_that_waits_by_ready_or_by_taking_blocked_off(office: Office) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One")
        for number in (2, 3):
            assert bob.open_issue(REPOSITORY, f"Part {number}", "Depends on #1") == number
        await settle(office, context)
        bob.comment(REPOSITORY, 2, "Any news?")
        await settle(office, context)
        assert not await begun(context, 2)
        bob.label(REPOSITORY, 2, "ready")
        bob.unlabel(REPOSITORY, 3, "blocked")
        await settle(office, context)
        assert await begun(context, 2) and await begun(context, 3)
        assert await context.database.read(waiting_issues.of_repository, REPOSITORY) == []
        bob.close(REPOSITORY, 1)
        await settle(office, context)
        assert len(await told(context, key(2))) == len(await told(context, key(3))) == 1

    run(office, work)


def test_a_cycle_is_said_once_while_it_is_the_same_and_ends_when_a_text_changes(office: Office) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One", "Depends on #2")
        bob.open_issue(REPOSITORY, "Two", "Depends on #3")
        bob.open_issue(REPOSITORY, "Three", "Depends on #1")
        bob.open_issue(REPOSITORY, "Four", "Depends on #4")
        await settle(office, context)
        for _ in range(3):
            await looking.look(context, REPOSITORY)
        cycles = [
            text for number in (1, 2, 3) for text in said(office, number) if "wait for each other" in text
        ]
        assert len(cycles) == 1 and "#1 → #2 → #3 → #1" in cycles[0]
        assert len([text for text in said(office, 4) if "wait for each other" in text]) == 1
        bob.edit(REPOSITORY, 3, body="It depends on nobody.")
        await settle(office, context)
        assert await begun(context, 3)
        for number in (3, 2):
            bob.close(REPOSITORY, number)
            await settle(office, context)
        assert await begun(context, 1)

    run(office, work)


def test_what_is_not_there_yet_holds_and_is_said_once(office: Office) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One", "Depends on #2")
        await settle(office, context)
        await looking.look(context, REPOSITORY)
        (text,) = said(office, 1)
        assert "there is no #2 here" in text
        bob.open_issue(REPOSITORY, "Two")
        await settle(office, context)
        bob.close(REPOSITORY, 2)
        await settle(office, context)
        assert await begun(context, 1)

    run(office, work)


def test_one_that_is_closed_while_it_waits_begins_after_it_is_opened_again(office: Office) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One")
        bob.open_issue(REPOSITORY, "Two", "Depends on #1")
        await settle(office, context)
        bob.close(REPOSITORY, 2)
        bob.close(REPOSITORY, 1)
        await settle(office, context)
        assert not await begun(context, 2)
        bob.reopen(REPOSITORY, 2)
        await settle(office, context)
        assert await begun(context, 2)

    run(office, work)


def test_what_is_closed_between_the_question_and_the_decision_is_not_missed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(*_: object) -> tuple[int, ...]:
        return (1,)

    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One")
        bob.close(REPOSITORY, 1)
        await settle(office, context)
        monkeypatch.setattr(Questions, "waits_for", late)
        bob.open_issue(REPOSITORY, "Two", "Depends on #1")
        await settle(office, context)
        assert await begun(context, 2)

    run(office, work)


def test_one_that_is_closed_during_a_look_is_seen_by_the_next(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event that is at work is not the one that will see it."""
    observe = looking.observing.observe

    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One")
        bob.open_issue(REPOSITORY, "Two", "Depends on #1")
        await settle(office, context)
        closed = False

        async def slow(*given: object) -> object:
            nonlocal closed
            seen = await observe(*given)  # type: ignore[arg-type]
            if not closed:
                closed = True
                await asyncio.to_thread(bob.close, REPOSITORY, 1)
                await office.arrive(context)
                await asyncio.sleep(0.3)
            return seen

        monkeypatch.setattr(looking.observing, "observe", slow)
        await Timers(context).schedule()
        await settle(office, context)
        assert await begun(context, 2)

    run(office, work)


def test_the_periodic_look_finds_what_no_event_told(office: Office) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One")
        bob.open_issue(REPOSITORY, "Two", "Depends on #1")
        await settle(office, context)
        bob.close(REPOSITORY, 1)
        office.lose()
        await settle(office, context)
        assert not await begun(context, 2)
        await Timers(context).schedule()
        await settle(office, context)
        assert await begun(context, 2)

    run(office, work)


@pytest.mark.parametrize("fault", [(500, 2), ("reset", 2), (403, 20)])
def test_failures_of_the_forge_delay_it_and_hold_nothing_for_ever(
    office: Office, fault: tuple[object, int]
) -> None:
    """Labels that may not be set (403) are no reason not to work."""

    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "One")
        bob.open_issue(REPOSITORY, "Two", "Depends on #1")
        await settle(office, context)
        kind, times = fault
        office.forge.fail_next("POST" if kind == 403 else "*", "/issues/2/labels", kind, times)  # type: ignore[arg-type]
        bob.close(REPOSITORY, 1)
        await settle(office, context)
        assert await begun(context, 2)

    run(office, work)


# ---- issues that are split


async def ended(context: Context, number: int) -> None:
    """A run of the session that takes what waits, and completes."""

    def write(connection: Connection, now: float) -> None:
        name = f"run-{now}"
        connection.execute(
            insert(runs).values(id=name, key=key(number), role="pm", agent_type="builtin", started_at=now)
        )
        inputs.take(connection, key(number), name)
        found = sessions.get(connection, key(number))
        if found and found.state != "working":
            transitions.change(connection, key(number), "working", "", now)
        transitions.change(connection, key(number), "completed", "", now)

    await context.database.write(write, time.time())


def test_a_pm_is_told_once_that_its_parts_are_done_and_the_issue_is_closed_after_that(office: Office) -> None:
    async def work(context: Context) -> None:
        bob, bot = office.forge.api_as("bob"), office.forge.api_as(BOT)
        bob.open_issue(REPOSITORY, "[pm] Split this")
        await settle(office, context)
        bot.open_issue(REPOSITORY, "One", "Parent: #1", labels=["role:implementer"])
        bob.close(REPOSITORY, 2)
        await settle(office, context)  # it is at work, and may make more
        assert [one.source for one in await told(context, key(1))] == ["opened"]
        bot.open_issue(REPOSITORY, "Two", "Parent: #1", labels=["role:implementer"])
        await ended(context, 1)
        await settle(office, context)
        assert await begun(context, 3) and await told(context, key(1)) == []
        bob.close(REPOSITORY, 3)
        await settle(office, context)
        for _ in range(2):
            await looking.look(context, REPOSITORY)
        (parts,) = await told(context, key(1))
        assert parts.kind == "parts" and "#2, #3" in parts.text
        assert bob.issue(REPOSITORY, 1)["state"] == "open"
        await ended(context, 1)
        await looking.look(context, REPOSITORY)
        assert bob.issue(REPOSITORY, 1)["state"] == "closed"
        bob.reopen(REPOSITORY, 1)
        await settle(office, context)
        await looking.look(context, REPOSITORY)
        assert bob.issue(REPOSITORY, 1)["state"] == "open"

    run(office, work)


def test_a_parent_is_no_dependency_and_one_that_nobody_works_on_is_closed_with_a_comment(
    office: Office,
) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Epic", labels=["blocked"])
        bob.open_issue(REPOSITORY, "One", "Parent: #1")
        await settle(office, context)
        assert await begun(context, 2)
        bob.close(REPOSITORY, 2)
        await settle(office, context)
        assert bob.issue(REPOSITORY, 1)["state"] == "closed"
        assert len(said(office, 1)) == 1 and "#2" in said(office, 1)[0]

    run(office, work)


def test_one_that_is_worked_itself_is_left_to_its_pull_request(office: Office) -> None:
    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Greet")
        bob.open_issue(REPOSITORY, "Found on the way", "Parent: #1")
        await settle(office, context)
        bob.close(REPOSITORY, 2)
        await settle(office, context)
        assert bob.issue(REPOSITORY, 1)["state"] == "open" and said(office, 1) == []

    run(office, work)


def test_a_parent_that_natively_depends_on_something_open_stays_open_and_says_so_once(office: Office) -> None:
    """The forge answers 412."""

    async def work(context: Context) -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Epic", labels=["blocked"])
        bob.open_issue(REPOSITORY, "One", "Parent: #1")
        bob.open_issue(REPOSITORY, "Another")
        bob.depend(REPOSITORY, 1, 3)
        await settle(office, context)
        bob.close(REPOSITORY, 2)
        await settle(office, context)
        await looking.look(context, REPOSITORY)
        assert bob.issue(REPOSITORY, 1)["state"] == "open"
        assert len([text for text in said(office, 1) if "do not close" in text]) == 1

    run(office, work)
