"""From stored deliveries to sessions that may run, with a stand-in forge that is asked over HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection, select, update
from structlog.testing import capture_logs

from fordjent import marker
from fordjent.config import Forgejo, Role, Sessions
from fordjent.context import Context
from fordjent.deciding import decide as deciding
from fordjent.deciding import dispatcher, questions
from fordjent.deciding.questions import Questions
from fordjent.forge.errors import NotAllowed, Unreachable
from fordjent.forge.types import Comment
from fordjent.intake import delivery as intake
from fordjent.store import deliveries, effects, events, inputs, issues, runs, sessions, statistics
from fordjent.store.schema import events as events_table
from fordjent.store.schema import inputs as inputs_table
from fordjent.store.schema import sessions as sessions_table
from tests.support.office import BOT, REPOSITORY, Office, dispatching, in_state, session, store, told, until

ISSUE = f"{REPOSITORY}/issues/1"
PERMISSION = "/collaborators/"


@pytest.fixture
def office(place: Path) -> Iterator[Office]:
    office = Office(place)
    yield office
    office.forge.stop()


def asked(office: Office, part: str) -> int:
    return sum(part in request.path for request in office.forge.log)


def test_an_issue_becomes_a_session_that_may_run_after_a_quiet_time(office: Office) -> None:
    async def work() -> None:
        office.forge.api_as("bob").open_issue(REPOSITORY, "Add a greeting", "Print **hello**.")
        async with office.open(sessions=Sessions(coalesce="30s")) as context:
            before = time.time()
            await office.decide(context)
            made = await session(context, ISSUE)
            assert made and made.ready_at
            assert (made.role, made.state) == ("implementer", "created")
            assert 25 < made.ready_at - before < 35
            assert [one.source for one in await told(context, ISSUE)] == ["opened"]

    asyncio.run(work())


def test_a_burst_is_one_run_that_sees_all_of_it_in_order(office: Office) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Add a greeting")
        for text in ("one", "two", "three"):
            bob.comment(REPOSITORY, 1, text)
        async with office.open() as context:
            await office.decide(context)
            assert [one.text for one in await told(context, ISSUE)] == [
                "Add a greeting",
                "one",
                "two",
                "three",
            ]
            held = await context.database.write(sessions.claim, "me", time.time() + 60, time.time() + 90, 9)
            assert [one.key for one in held] == [ISSUE]

    asyncio.run(work())


def test_somebody_is_asked_about_once_for_a_while(office: Office) -> None:
    async def work() -> None:
        for number in range(1, 6):
            office.forge.api_as("bob").open_issue(REPOSITORY, f"Issue {number}")
        async with office.open() as context:
            await office.decide(context)
            assert await in_state(context, "decided") == 5
            assert asked(office, f"{PERMISSION}bob") == 1

    asyncio.run(work())


def test_nobody_is_asked_about_events_that_start_nothing(office: Office) -> None:
    async def work() -> None:
        bot = office.forge.api_as(BOT)
        office.forge.api_as("bob").open_issue(REPOSITORY, "Add a greeting")
        bot.comment(REPOSITORY, 1, "On it.\n\n<!-- ford -->")
        bot.label(REPOSITORY, 1, "in_progress")
        bot.push(REPOSITORY, "fordjent/issue-1", {"a.txt": "a\n"})
        async with office.open() as context:
            await office.decide(context)
            assert asked(office, PERMISSION) - asked(office, f"{PERMISSION}bob") == 0
            assert [one.source for one in await told(context, ISSUE)] == ["opened"]
            assert (await context.database.read(deliveries.counts)).filtered == 2

    asyncio.run(work())


def test_a_stranger_starts_nothing_and_allowed_senders_do(office: Office) -> None:
    async def work() -> None:
        eve = office.forge.api_as("eve")
        eve.open_issue(REPOSITORY, "Mine bitcoins")
        async with office.open() as context:
            await office.decide(context)
            assert await session(context, ISSUE) is None
        eve.comment(REPOSITORY, 1, "please")
        allowing = Forgejo(url=office.forge.url, token=office.forge.token(BOT), allowed_senders=["Eve"])
        async with office.open(forgejo=allowing) as context:
            await office.decide(context)
            assert [one.text for one in await told(context, ISSUE)] == ["please"]

    asyncio.run(work())


def test_somebody_who_was_let_in_is_soon_known_to_be(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        alice, eve = office.forge.api_as("alice"), office.forge.api_as("eve")
        async with office.open() as context:
            eve.open_issue(REPOSITORY, "Mine bitcoins")
            await office.decide(context)
            assert await session(context, ISSUE) is None
            alice.do("PUT", f"/repos/{REPOSITORY}/collaborators/eve", {"permission": "write"})
            eve.comment(REPOSITORY, 1, "now?")
            await office.decide(context)
            assert [one.text for one in await told(context, ISSUE)] == ["now?"]

    monkeypatch.setattr(questions, "REFUSAL_SECONDS", 0.0)
    asyncio.run(work())


def test_two_hooks_with_equal_bodies_feed_one_input(office: Office) -> None:
    async def work() -> None:
        office.forge.hook(REPOSITORY, "http://127.0.0.1:9/second", "s3cret-of-tests")
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Add a greeting")
        bob.label(REPOSITORY, 1, "ready")
        bob.comment(REPOSITORY, 1, "Go.")
        async with office.open() as context:
            await office.decide(context)
            assert await in_state(context, "decided") == 6
            kinds = [one.kind for one in await told(context, ISSUE)]
            assert kinds == ["opened", "label", "comment"]

    asyncio.run(work())


def test_a_review_is_fed_with_its_inline_comments_to_the_author(office: Office) -> None:
    async def work() -> None:
        bot, bob = office.forge.api_as(BOT), office.forge.api_as("bob")
        bot.push(REPOSITORY, "fordjent/issue-1", {"a.txt": "a\nb\n"})
        number = bot.open_pull(REPOSITORY, "fordjent/issue-1", "Add a", "<!-- ford -->")
        for text in ("See inline.", "And here."):
            bob.review(
                REPOSITORY, number, "request_changes", text, [("a.txt", 1, "rename"), ("a.txt", 2, text)]
            )
        async with office.open() as context:
            await office.decide(context)
            key = f"{REPOSITORY}/pulls/{number}"
            made = await session(context, key)
            assert made and (made.role, made.branch, made.pull) == ("implementer", "fordjent/issue-1", number)
            first, second = await told(context, key)
            assert "See inline." in first.text and "a.txt, line 2:" in first.text and "rename" in first.text
            assert "And here." in second.text
            assert first.source != second.source

    asyncio.run(work())


def test_the_role_of_the_session_that_made_the_pull_request_gets_its_feedback(office: Office) -> None:
    async def work() -> None:
        bot, bob = office.forge.api_as(BOT), office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "[qa] Test it")
        bot.push(REPOSITORY, "fordjent/issue-1", {"a.txt": "a\n"})
        number = bot.open_pull(REPOSITORY, "fordjent/issue-1", "Tests")
        async with office.open() as context:
            await office.decide(context)
            await context.database.write(sessions.note, ISSUE, pull=number)
            bob.comment(REPOSITORY, number, "More of them.")
            await office.decide(context)
            made = await session(context, f"{REPOSITORY}/pulls/{number}")
            assert made and made.role == "tester"

    asyncio.run(work())


def test_the_bots_own_pull_request_is_reviewed_by_a_reviewer_of_its_own(office: Office) -> None:
    async def work() -> None:
        bot = office.forge.api_as(BOT)
        bot.push(REPOSITORY, "fordjent/issue-1", {"a.txt": "a\n"})
        number = bot.open_pull(REPOSITORY, "fordjent/issue-1", "Add a")
        reviewer = {"reviewer": Role(token=office.forge.token("ford-review"))}
        async with office.open(roles=reviewer) as context:
            await office.decide(context)
            made = await session(context, f"{REPOSITORY}/pulls/{number}")
            assert made and made.role == "reviewer"
            office.forge.api_as("ford-review").comment(REPOSITORY, number, "Fine.")
            await office.decide(context)
            assert [one.kind for one in await told(context, f"{REPOSITORY}/pulls/{number}")] == ["head"]

    asyncio.run(work())


def test_a_closed_issue_starts_no_run_and_stops_the_one_that_goes_on(office: Office) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Add a greeting")
        async with office.open() as context:
            await office.decide(context)
            await context.database.write(sessions.claim_one, ISSUE, "me", time.time(), time.time() + 60)
            bob.close(REPOSITORY, 1)
            await office.decide(context)
            closed = await session(context, ISSUE)
            assert closed and (closed.cancel, closed.ready_at) == ("closed by bob", None)
            bob.reopen(REPOSITORY, 1)
            bob.comment(REPOSITORY, 1, "Go on.")
            await office.decide(context)
            again = await session(context, ISSUE)
            assert again and again.cancel == "" and again.ready_at

    asyncio.run(work())


def test_the_breaker_keeps_what_is_said_and_holds_the_run(office: Office) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Add a greeting")
        async with office.open(sessions=Sessions(max_runs_per_hour=2)) as context:
            await office.decide(context)
            began = time.time() - 600
            for start in (began, began + 60):
                run = await context.database.write(runs.begin, ISSUE, "implementer", "builtin", start)
                await context.database.write(runs.end, run.id, "completed", "done", start + 1)
            bob.comment(REPOSITORY, 1, "Again!")
            await office.decide(context)
            held = await session(context, ISSUE)
            assert held and held.ready_at == pytest.approx(began + 3600, abs=1)
            assert "Again!" in [one.text for one in await told(context, ISSUE)]

    asyncio.run(work())


def test_an_issue_without_a_role_is_guided_once_whatever_stops_us(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Add a greeting")
        office.forge.fail_next("POST", "/issues/1/labels", 500, times=1)
        async with office.open(sessions=Sessions(require_role=True)) as context:
            await office.decide(context)
            assert [comment["user"]["login"] for comment in bob.comments(REPOSITORY, 1)] == [BOT]
            assert "role:pm" in bob.comments(REPOSITORY, 1)[0]["body"]
            assert bob.labels(REPOSITORY, 1) == ["needs-role"]
            assert await session(context, ISSUE) is None
            bob.label(REPOSITORY, 1, "role:devops")
            await office.decide(context)
            made = await session(context, ISSUE)
            assert made and made.role == "devops"

    monkeypatch.setattr(dispatcher, "FIRST_DELAY_SECONDS", 0.02)
    asyncio.run(work())


def test_a_secret_in_a_comment_does_not_reach_the_session_or_the_record(office: Office) -> None:
    async def work() -> None:
        token = office.forge.token(BOT)
        office.forge.api_as("bob").open_issue(REPOSITORY, f"Use {token}", f"The token is {token}.")
        async with office.open() as context:
            await office.decide(context)
            stored = await context.database.read(texts_stored)
            assert "[redacted]" in stored
            assert token not in stored

    asyncio.run(work())


def test_a_comment_that_we_wrote_is_known_by_its_id_though_another_login_sends_it(office: Office) -> None:
    """An account that nobody named as the bot's: of a role's token that was changed, say."""

    async def work() -> None:
        bob, other = office.forge.api_as("bob"), office.forge.api_as("ford-review")
        bob.open_issue(REPOSITORY, "Add a greeting")
        async with office.open() as context:
            text = marker.mark("On it.", f"{ISSUE}:run-1:said")
            ours = other.comment(REPOSITORY, 1, text)
            await note_written(context, f"{ISSUE}:run-1:said", ours)
            interrupted = marker.mark("Then.", f"{ISSUE}:run-1:begun")
            await context.database.write(effects.begin, f"{ISSUE}:run-1:begun", ISSUE, "comment", time.time())
            other.comment(REPOSITORY, 1, interrupted)
            quoted = bob.comment(REPOSITORY, 1, text)
            await office.decide(context)
            sources = [one.source for one in await told(context, ISSUE)]
            assert sources == ["opened", f"comment:{quoted}"]

    asyncio.run(work())


def test_a_new_head_is_the_bots_where_the_push_before_it_says_so(office: Office) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.push(REPOSITORY, "topic", {"a.txt": "a\n"})
        number = bob.open_pull(REPOSITORY, "topic", "Mine")
        bob.push(REPOSITORY, "topic", {"a.txt": "b\n"}, "[agent-automation] Mend it")
        bob.push(REPOSITORY, "topic", {"a.txt": "c\n"}, "Mend it by hand")
        async with office.open() as context:
            await office.decide(context)
            assert len(await told(context, f"{REPOSITORY}/pulls/{number}")) == 2

    asyncio.run(work())


def test_what_a_comment_is_on_is_asked_once_where_the_event_does_not_say(office: Office) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.push(REPOSITORY, "topic", {"a.txt": "a\n"})
        number = bob.open_pull(REPOSITORY, "topic", "Mine")
        for text in ("one", "two"):
            bob.comment(REPOSITORY, number, text)
        sent = [one for one in await asyncio.to_thread(office.forge.delivered) if b'"comment"' in one.body]
        before = len(office.forge.log)
        async with office.open() as context:
            for one in sent:
                document = {
                    name: value
                    for name, value in one.payload.items()
                    if name not in ("is_pull", "pull_request")
                }
                document["issue"] = {**document["issue"], "pull_request": None}
                headers = {**one.headers, "X-Forgejo-Event-Type": "issue_comment"}
                await store(context, headers, msgspec.json.encode(document))
            async with dispatching(context, {}):
                await until(lambda: none_new(context))
            assert [one.text for one in await told(context, f"{REPOSITORY}/pulls/{number}")] == ["one", "two"]
            paths = [request.path for request in office.forge.log[before:]]
            assert sum(path.endswith(f"/issues/{number}") for path in paths) == 1

    asyncio.run(work())


# ---- what cannot be decided


def test_what_was_postponed_before_a_restart_holds_back_what_comes_after_it(office: Office) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Held")
        bob.open_issue(REPOSITORY, "Free")
        async with office.open() as context:
            await office.arrive(context)
            await context.database.write(events.postpone, 1, time.time() + 60)
            bob.comment(REPOSITORY, 1, "later")
            await office.arrive(context)
            async with dispatching(context, {}):
                await until(lambda: all_held(context, 2))
                await until(lambda: has(context, f"{REPOSITORY}/issues/2", "Free"))
            assert await session(context, f"{REPOSITORY}/issues/1") is None

    asyncio.run(work())


def test_a_delivery_that_cannot_be_read_is_parked_at_once(office: Office) -> None:
    async def work() -> None:
        async with office.open() as context:
            headers = {
                "X-Forgejo-Event-Type": "issues",
                "X-Forgejo-Delivery": "1",
                "Content-Type": "application/json",
            }
            await store(context, headers, b'{"action": "opened", "repository": {"full_name": "acme/widget"}}')
            async with dispatching(context, {}):
                await until(lambda: none_new(context))
            assert await in_state(context, "parked") == 1

    asyncio.run(work())


def test_an_event_that_nobody_can_answer_for_a_week_is_given_up(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        office.forge.api_as("bob").open_issue(REPOSITORY, "Old")
        async with office.open() as context:
            await office.arrive(context)
            office.forge.down()
            async with dispatching(context, {}):
                await until(lambda: none_new(context))
            assert "does not answer" in await context.database.read(error_of, 1)

    monkeypatch.setattr(dispatcher, "FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(dispatcher, "GIVEN_UP_SECONDS", 0.0)
    asyncio.run(work())


def test_while_the_forge_is_away_its_events_wait_in_order_and_the_others_go_on(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        bob, alice = office.forge.api_as("bob"), office.forge.api_as("alice")
        alice.open_issue(REPOSITORY, "Known")
        async with office.open() as context:
            await office.arrive(context)
            async with dispatching(context, {}):
                await until(lambda: none_new(context))  # the bot and alice are known from here on
                bob.open_issue(REPOSITORY, "First")
                bob.comment(REPOSITORY, 2, "second")
                alice.comment(REPOSITORY, 1, "goes on")
                await asyncio.to_thread(office.forge.delivered)
                office.forge.down()
                await office.arrive(context)
                await until(lambda: has(context, f"{REPOSITORY}/issues/1", "goes on"))
                await until(lambda: all_held(context, 2))
                assert await session(context, f"{REPOSITORY}/issues/2") is None
                office.forge.up()
                await until(lambda: has(context, f"{REPOSITORY}/issues/2", "second"))
            assert [one.kind for one in await told(context, f"{REPOSITORY}/issues/2")] == [
                "opened",
                "comment",
            ]

    monkeypatch.setattr(dispatcher, "FIRST_DELAY_SECONDS", 0.3)
    asyncio.run(work())


def test_an_event_that_breaks_us_is_parked_with_its_error_and_stops_no_other(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(event: deciding.Event, facts: deciding.Facts) -> list[deciding.Action]:
        if event.title == "Break":
            raise ZeroDivisionError("of ours")
        return deciding.decide(event, facts)

    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Break")
        bob.open_issue(REPOSITORY, "Work")
        async with office.open() as context:
            await office.decide(context)
            assert await session(context, f"{REPOSITORY}/issues/2")
            assert await in_state(context, "parked") == 1
            assert await context.database.read(error_of, 1) == "ZeroDivisionError: of ours"
            numbers = await context.database.read(statistics.status, time.time())
            assert numbers.queue.parked == 1
            assert [(one.number, one.error) for one in numbers.parked] == [(1, "ZeroDivisionError: of ours")]

    monkeypatch.setattr(dispatcher, "FIRST_DELAY_SECONDS", 0.005)
    monkeypatch.setattr(dispatcher, "decide", broken)
    asyncio.run(work())


def test_a_token_without_the_scope_for_users_leaves_it_to_the_logins_in_the_configuration(
    office: Office,
) -> None:
    async def work() -> None:
        office.forge.fail_next("GET", "^.*/user$", 403, times=9)
        office.forge.api_as("bob").open_issue(REPOSITORY, "Add a greeting")
        async with office.open() as context:
            await office.decide(context)
            assert await session(context, ISSUE)

    asyncio.run(work())


# ---- our own events


def test_waiting_merges_are_tried_again_once_after_a_pull_request_is_out_of_the_way(office: Office) -> None:
    tried: list[str] = []

    async def retry(context: Context, repository: str) -> None:
        tried.append(repository)
        if len(tried) == 1:
            raise Unreachable("GET", "/x", 0, "away", wait_seconds=0.01)

    async def work() -> None:
        bob = office.forge.api_as("bob")
        for name in ("one", "two"):
            bob.push(REPOSITORY, name, {f"{name}.txt": "x\n"})
            office.forge.settle()
            bob.edit(REPOSITORY, bob.open_pull(REPOSITORY, name, name), state="closed")
        async with office.open() as context:
            await office.arrive(context)
            async with dispatching(context, {"retry_merge": retry}):
                await until(lambda: none_new(context))
        assert 2 <= len(tried) <= 3
        assert set(tried) == {REPOSITORY}

    asyncio.run(work())


# ---- kills


SETTINGS = """
webhook.secret = "s3cret-of-tests"
forgejo = {{ url = "{url}", token = "{token}" }}
providers.main = {{ base_url = "scripted:none", model = "none" }}
state.dir = "state"
"""

KILLED = """
import asyncio, sys
from pathlib import Path
from fordjent import config
from fordjent.context import Context
from fordjent.deciding.dispatcher import Dispatcher

async def main():
    async with Context.open(config.load(sys.argv[1])) as context:
        await Dispatcher(context, {}).run(asyncio.Event())

asyncio.run(main())
"""


def test_killed_after_each_decision_nothing_is_lost_or_told_twice(office: Office, place: Path) -> None:
    bob = office.forge.api_as("bob")
    bob.open_issue(REPOSITORY, "Add a greeting")
    for text in ("one", "two"):
        bob.comment(REPOSITORY, 1, text)
    file = place / "config.toml"
    file.write_text(SETTINGS.format(url=office.forge.url, token=office.forge.token(BOT)), "utf-8")

    async def store() -> None:
        async with office.open() as context:
            await office.arrive(context)

    async def check() -> None:
        async with office.open() as context:
            assert [one.text for one in await told(context, ISSUE)] == ["Add a greeting", "one", "two"]
            assert await in_state(context, "decided") == 3

    asyncio.run(store())
    lib = Path(dispatcher.__file__).parents[2]
    environment = {**os.environ, "ENT_AGENT_STOP_AT": "fordjent.decided", "PYTHONPATH": str(lib)}
    for _ in range(3):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(file)], env=environment, start_new_session=True, timeout=60
        )
        assert killed.returncode == -signal.SIGKILL
    asyncio.run(check())


def test_a_decision_that_was_written_is_not_written_again(office: Office) -> None:
    async def work() -> None:
        office.forge.api_as("bob").open_issue(REPOSITORY, "Add a greeting")
        async with office.open() as context:
            await office.decide(context)
            await context.database.write(inputs.take, ISSUE, "run-1")
            await context.database.write(
                lambda connection: connection.execute(update(events_table).values(state="new"))
            )
            await office.decide(context)
            assert await told(context, ISSUE) == []
            made = await session(context, ISSUE)
            assert made and made.ready_at is None

    asyncio.run(work())


def test_a_flood_on_many_issues_is_decided_in_order_for_each(office: Office) -> None:
    async def work() -> None:
        office.forge.api_as("bob").open_issue(REPOSITORY, "Add a greeting")
        async with office.open() as context:
            await office.decide(context)
            [sample] = [one for one in office.forge.deliveries if one.event_type == "issues"]
            document = msgspec.json.decode(sample.body)
            arrived = []
            for turn in range(5):
                for number in range(100, 300):
                    document["number"] = document["issue"]["number"] = number
                    document["comment"] = {
                        "id": number * 10 + turn,
                        "body": str(turn),
                        "user": {"login": "bob"},
                    }
                    headers = {
                        "x-forgejo-event-type": "issue_comment",
                        "x-forgejo-delivery": f"{number}-{turn}",
                        "content-type": "application/json",
                    }
                    document |= {"action": "created", "is_pull": False}
                    arrived.append(intake.trusted(headers, msgspec.json.encode(document)))
            await context.database.write(deliveries.accept_all, arrived, time.time())
            await office.decide(context)
            for number in range(100, 300):
                texts = [one.text for one in await told(context, f"{REPOSITORY}/issues/{number}")]
                assert texts == ["0", "1", "2", "3", "4"]

    asyncio.run(work())


def test_an_issue_is_remembered_as_it_was_last_seen(office: Office) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Add a greeting", labels=["bug"])
        bob.assign(REPOSITORY, 1, "bob")
        async with office.open() as context:
            await office.decide(context)
            known = await context.database.read(issues.get, REPOSITORY, 1)
            assert known and (known.labels, known.assignees, known.state) == (("bug",), ("bob",), "open")

    asyncio.run(work())


# ---- looking


async def has(context: Context, key: str, text: str) -> bool:
    return text in [one.text for one in await told(context, key)]


async def none_new(context: Context) -> bool:
    return await in_state(context, "new") == 0


async def note_written(context: Context, effect_id: str, comment: int) -> None:
    await context.database.write(effects.begin, effect_id, ISSUE, "comment", time.time())
    result = msgspec.json.encode(Comment(id=comment)).decode()
    await context.database.write(effects.finish, effect_id, result)


async def all_held(context: Context, count: int) -> bool:
    return len(await context.database.read(events.held, time.time())) == count


def error_of(connection: Connection, event_id: int) -> str:
    return str(connection.execute(select(events_table.c.error).where(events_table.c.id == event_id)).scalar())


def texts_stored(connection: Connection) -> str:
    rows = [
        *connection.execute(select(events_table.c.actions)),
        *connection.execute(select(inputs_table.c.content)),
        *connection.execute(select(sessions_table)),
    ]
    return "\n".join(str(tuple(row)) for row in rows)


def test_a_role_s_token_that_the_forge_refuses_holds_up_no_event(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        bob = office.forge.api_as("bob")
        bob.open_issue(REPOSITORY, "Add a greeting")
        async with office.open(roles={"reviewer": Role(token="0" * 40)}) as context:
            with capture_logs() as logged:
                await office.decide(context)
                assert await session(context, ISSUE)
            refused = [line for line in logged if line["event"] == "token.refused"]
            assert [line["key"] for line in refused] == ["roles.reviewer.token"] and refused[0]["hint"]

            once = Questions(context)
            before = asked(office, "/user")
            await once.identity()
            await once.identity()
            assert asked(office, "/user") == before + 2  # ours, and the role's: once
            monkeypatch.setattr(questions, "REFUSED_SECONDS", 0.0)
            later = Questions(context)
            await later.identity()
            before = asked(office, "/user")
            await later.identity()
            assert asked(office, "/user") == before + 1  # the role's alone

    asyncio.run(work())


def test_a_token_of_ours_that_the_forge_refuses_is_not_asked_about_for_every_event(office: Office) -> None:
    async def work() -> None:
        async with office.open() as context:
            office.forge.fail_next("GET", "/user$", 401, times=10_000)
            ours = Questions(context)
            for _ in range(20):
                with pytest.raises(NotAllowed):
                    await ours.identity()
            assert asked(office, "/user") == 1

    asyncio.run(work())
