"""What webhooks missed, beside a stand-in forge: started once, by who may, and never twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, update

from fordjent.context import Context
from fordjent.forge.errors import Unreachable
from fordjent.reconciling import reconciling
from fordjent.reconciling.mending import stale_labels
from fordjent.serving import metrics
from fordjent.sessions.timers import Timers
from fordjent.store import handled, inputs, repositories, sessions, transitions
from fordjent.store import schema as tables
from tests.support.office import BOT, REPOSITORY, Office, dispatching, in_state, session, told, until

ISSUE = f"{REPOSITORY}/issues/1"


@pytest.fixture
def office(place: Path) -> Iterator[Office]:
    office = Office(place)
    yield office
    office.forge.stop()


async def set_up(context: Context, at: float | None = None) -> None:
    at = time.time() - 1 if at is None else at
    await context.database.write(repositories.seen, REPOSITORY, "main", at)


async def look(office: Office, context: Context) -> int:
    """Everything by now was lost; what was missed is found, and decided."""
    office.lose()
    found = await reconciling.reconcile(context, REPOSITORY, grace_seconds=-5.0)
    await office.decide(context)
    return found


async def sources(context: Context, key: str = ISSUE) -> list[str]:
    return [one.source for one in await told(context, key)]


def test_an_issue_and_a_comment_that_no_webhook_told_of_are_worked_once(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            number = alice.open_issue(REPOSITORY, "Greet in French")
            comment = alice.comment(REPOSITORY, number, "And in Dutch.")
            assert await look(office, context) == 2
            assert await sources(context) == ["opened", f"comment:{comment}"]
            assert await look(office, context) == 0
            assert await sources(context) == ["opened", f"comment:{comment}"]
            shown = await context.database.read(metrics.text)
            assert b"fordjent_reconcile_missed_total 2.0" in shown

    asyncio.run(story())


def test_a_webhook_that_comes_after_all_tells_nothing_twice(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            alice.comment(REPOSITORY, alice.open_issue(REPOSITORY, "Greet"), "Please.")
            assert await reconciling.reconcile(context, REPOSITORY, grace_seconds=-5.0) == 2
            await office.decide(context)  # the late ones too
            assert len(await sources(context)) == 2

    asyncio.run(story())


def test_what_webhooks_told_of_is_not_found_again(office: Office) -> None:
    alice, bob = office.forge.api_as("alice"), office.forge.api_as("bob")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            number = alice.open_issue(REPOSITORY, "Greet", labels=["bug"])
            alice.comment(REPOSITORY, number, "Please.")
            office.forge.api_as("eve").comment(REPOSITORY, number, "Let me in.")
            alice.label(REPOSITORY, number, "ready")
            bob.push(REPOSITORY, "topic", {"a.txt": "a\n"})
            pull = bob.open_pull(REPOSITORY, "topic", "A")
            bob.push(REPOSITORY, "topic", {"a.txt": "b\n"})
            alice.review(REPOSITORY, pull, "request_changes", "No.", [("a.txt", 1, "Why?")])
            await office.decide(context)
            assert await reconciling.reconcile(context, REPOSITORY, grace_seconds=-5.0) == 0

    asyncio.run(story())


def test_a_stranger_starts_nothing_that_way_either(office: Office) -> None:
    eve, alice = office.forge.api_as("eve"), office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            number = eve.open_issue(REPOSITORY, "Send me the key")
            eve.comment(REPOSITORY, number, "Now.")
            assert await look(office, context) == 2
            assert await session(context, ISSUE) is None
            alice.comment(REPOSITORY, number, "Do it.")
            assert await look(office, context) == 1
            assert len(await sources(context)) == 1

    asyncio.run(story())


def test_what_the_bot_did_itself_starts_nothing(office: Office) -> None:
    bot, alice = office.forge.api_as(BOT), office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            number = alice.open_issue(REPOSITORY, "Greet", labels=["blocked"])
            await office.decide(context)
            bot.comment(REPOSITORY, number, "I wait.")
            bot.label(REPOSITORY, number, "ready")
            assert await look(office, context) == 2
            assert await session(context, ISSUE) is None
            alice.unlabel(REPOSITORY, number, "ready")
            await look(office, context)
            alice.label(REPOSITORY, number, "ready")
            assert await look(office, context) == 1
            assert [source.split(":")[:2] for source in await sources(context)] == [["label", "ready"]]

    asyncio.run(story())


def test_a_new_head_and_a_review_of_a_pull_request_are_told(office: Office) -> None:
    alice, bob = office.forge.api_as("alice"), office.forge.api_as("bob")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            bob.push(REPOSITORY, "topic", {"a.txt": "a\n"})
            pull = bob.open_pull(REPOSITORY, "topic", "A")
            await office.decide(context)
            head = bob.push(REPOSITORY, "topic", {"a.txt": "b\n"})
            review = alice.review(REPOSITORY, pull, "request_changes", "No.", [("a.txt", 1, "Why?")])
            assert await look(office, context) == 2
            key = f"{REPOSITORY}/pulls/{pull}"
            assert set((await sources(context, key))[1:]) == {f"head:{head}", f"review:{review}"}
            (said,) = [one for one in await told(context, key) if one.kind == "review"]
            assert "Why?" in said.text

    asyncio.run(story())


def test_the_bot_s_own_push_to_a_pull_request_is_no_new_head(office: Office) -> None:
    bob = office.forge.api_as("bob")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            bob.push(REPOSITORY, "topic", {"a.txt": "a\n"})
            pull = bob.open_pull(REPOSITORY, "topic", "A")
            await office.decide(context)
            before = await sources(context, f"{REPOSITORY}/pulls/{pull}")
            office.forge.api_as(BOT).push(
                REPOSITORY, "topic", {"a.txt": "b\n"}, "[agent-automation] Change it"
            )
            assert await look(office, context) == 1
            assert await sources(context, f"{REPOSITORY}/pulls/{pull}") == before

    asyncio.run(story())


def test_a_merge_that_was_missed_frees_those_that_wait(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            alice.push(REPOSITORY, "topic", {"a.txt": "a\n"})
            pull = alice.open_pull(REPOSITORY, "topic", "A")
            await office.decide(context)
            alice.merge(REPOSITORY, pull)
            retried = []

            async def note(_context: Context, repository: str) -> None:
                retried.append(repository)

            office.lose()
            assert await reconciling.reconcile(context, REPOSITORY, grace_seconds=-5.0) == 1
            await office.decide(context, {"retry_merge": note})
            assert retried == [REPOSITORY]
            assert await reconciling.reconcile(context, REPOSITORY, grace_seconds=-5.0) == 0

    asyncio.run(story())


def test_an_issue_that_was_closed_meanwhile_is_not_worked(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            number = alice.open_issue(REPOSITORY, "Greet")
            await office.decide(context)
            alice.close(REPOSITORY, number)
            assert await look(office, context) == 1
            found = await session(context, ISSUE)
            assert found and found.ready_at is None

    asyncio.run(story())


def test_what_is_older_than_the_set_up_is_begun_only_when_adopted(office: Office) -> None:
    alice = office.forge.api_as("alice")
    alice.open_issue(REPOSITORY, "Old")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context, time.time() + 5)
            assert await look(office, context) == 0
            assert await reconciling.adopt(context, REPOSITORY) == 1
            assert await reconciling.adopt(context, REPOSITORY) == 0
            await office.decide(context)
            assert await sources(context) == ["opened"]

    asyncio.run(story())


def test_more_than_a_page_of_issues_is_read_to_its_end(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            for number in range(61):
                alice.open_issue(REPOSITORY, f"Number {number}")
            assert await look(office, context) == 61

    asyncio.run(story())


def test_a_forge_that_is_away_postpones_and_forgets_nothing(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            alice.open_issue(REPOSITORY, "Greet")
            office.lose()
            office.forge.down()
            with pytest.raises(Unreachable):
                await reconciling.reconcile(context, REPOSITORY, grace_seconds=-5.0)
            known = await context.database.read(handled.repository, REPOSITORY)
            assert known and known.reconciled_at == 0.0
            office.forge.up()
            assert await look(office, context) == 1

    asyncio.run(story())


def test_the_timer_makes_one_event_a_repository_also_while_the_forge_is_away(office: Office) -> None:
    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            timers = Timers(context)
            await timers.reconcile()
            await timers.reconcile()
            assert await in_state(context, "new") == 1
            office.forge.down()
            async with dispatching(context, None):
                await until(lambda: _was_postponed(context))
            await timers.reconcile()
            assert await in_state(context, "new") == 1

    asyncio.run(story())


async def _was_postponed(context: Context) -> bool:
    def count(connection: Connection) -> int:
        tried = select(func.count()).where(tables.events.c.attempts > 0)
        return connection.execute(tried).scalar() or 0

    return await context.database.read(count) > 0


def test_a_session_whose_inputs_nothing_would_wake_goes_on(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            alice.open_issue(REPOSITORY, "Greet")
            await office.decide(context)
            await context.database.write(inputs.close, ISSUE)
            await look(office, context)
            found = await session(context, ISSUE)
            assert found and found.ready_at is not None

    asyncio.run(story())


def test_one_that_a_person_stopped_does_not(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            alice.open_issue(REPOSITORY, "Greet")
            await office.decide(context)
            await context.database.write(inputs.close, ISSUE)
            await context.database.write(sessions.note, ISSUE, cancel="reassigned to bob")
            await look(office, context)
            found = await session(context, ISSUE)
            assert found and found.ready_at is None

    asyncio.run(story())


def test_a_run_that_shows_no_sign_beyond_its_time_is_told_to_stop(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            alice.open_issue(REPOSITORY, "Greet")
            await office.decide(context)
            now = time.time()
            await context.database.write(sessions.claim_one, ISSUE, "elsewhere 1", now, now + 60)
            await context.database.write(transitions.change, ISSUE, "working", "opened", now)
            await look(office, context)
            assert not (found := await session(context, ISSUE)) or found.cancel == ""

            def long_ago(connection: Connection) -> None:
                connection.execute(update(tables.sessions).values(changed_at=now - 5000))

            await context.database.write(long_ago)
            await look(office, context)
            found = await session(context, ISSUE)
            assert found and "no sign" in found.cancel

    asyncio.run(story())


def test_a_label_of_work_that_is_over_is_taken_off(office: Office) -> None:
    alice = office.forge.api_as("alice")

    async def story() -> None:
        async with office.open() as context:
            await set_up(context)
            number = alice.open_issue(REPOSITORY, "Greet", labels=["bug"])
            await office.decide(context)
            await context.database.write(inputs.take, ISSUE, "run")
            for state in ("working", "completed"):
                await context.database.write(transitions.change, ISSUE, state, "for the test", time.time())
            alice.label(REPOSITORY, number, "in_progress", "fordjent/failed:budget")
            await look(office, context)
            assert alice.labels(REPOSITORY, number) == ["bug"]
            found = await session(context, ISSUE)
            assert found and stale_labels(found, ["in_progress", "ready", "bug"]) == {"in_progress"}

    asyncio.run(story())


def test_a_repository_that_is_gone_is_no_failure(office: Office) -> None:
    async def story() -> None:
        async with office.open() as context:
            await context.database.write(repositories.seen, "acme/gone", "main", time.time())
            assert await reconciling.reconcile(context, "acme/gone") == 0
            assert await reconciling.reconcile(context, "acme/never-seen") == 0

    asyncio.run(story())
