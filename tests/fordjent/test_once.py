"""What leaves the process happens once, whatever ends the process, the connection or the forge in between."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection, update

from fordjent import posting
from fordjent.context import Context
from fordjent.forge import comments
from fordjent.forge.errors import Archived, NotFound, Unreachable
from fordjent.forge.forge import Forge
from fordjent.forge.reviews import Remark
from fordjent.marker import has_effect, is_marked, mark, unmarked
from fordjent.once import once
from fordjent.session_key import SessionKey
from fordjent.store import effects
from fordjent.store.database import Database
from fordjent.store.schema import effects as rows
from tests.support.forge.server import StandIn
from tests.support.posts import KEY, context

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
EFFECT = "acme/widget/issues/1:run-1:done"
SECRET = "ghp_" + "a1B2c3D4" * 5


@pytest.fixture
def forge(place: Path) -> Iterator[StandIn]:
    with StandIn.start(place / "forge") as forge:
        forge.repository("acme/widget", collaborators={"fordjent": "write", "bob": "write"})
        forge.api_as("bob").open_issue("acme/widget", "Add a greeting")
        yield forge


@pytest.fixture
def database_url(place: Path) -> str:
    return f"sqlite:///{place / 'fordjent.db'}"


def bodies(forge: StandIn, number: int = 1) -> list[str]:
    return [comment["body"] for comment in forge.api_as("bob").comments("acme/widget", number)]


def writes(forge: StandIn, what: str = "comments") -> int:
    return sum(asked.method == "POST" and asked.path.endswith(what) for asked in forge.log)


@pytest.mark.parametrize("stop_at", ["fordjent.comment.begun", "fordjent.comment", "fordjent.comment.noted"])
def test_a_kill_on_the_way_neither_loses_nor_repeats_a_comment(
    forge: StandIn, database_url: str, stop_at: str
) -> None:
    command = [sys.executable, "-m", "tests.support.posts"]
    arguments = [forge.url, forge.token("fordjent"), database_url, EFFECT, "Done: see #7."]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'lib'}:{ROOT}"}
    killed = subprocess.run(
        [*command, *arguments],
        env={**environment, "ENT_AGENT_STOP_AT": stop_at},
        cwd=ROOT,
        start_new_session=True,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL
    again = subprocess.run(
        [*command, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert again.returncode == 0, again.stderr
    assert [unmarked(body) for body in bodies(forge)] == ["Done: see #7."]
    assert has_effect(bodies(forge)[0], EFFECT)
    assert writes(forge) == 1


def test_what_was_done_before_is_told_without_asking_the_forge(forge: StandIn, database_url: str) -> None:
    async def twice(context: Context, client: Forge) -> tuple[int, int]:
        first = await posting.comment(context, client, KEY, EFFECT, "Done.")
        forge.log.clear()
        second = await posting.comment(context, client, KEY, EFFECT, "Done, said differently.")
        return first.id, second.id

    first, second = with_parts(forge, database_url, twice)
    assert first == second
    assert forge.log == []


def test_two_at_the_same_time_write_one(forge: StandIn, database_url: str) -> None:
    async def both(context: Context, client: Forge) -> set[int]:
        made = [posting.comment(context, client, KEY, EFFECT, "Done.") for _ in range(3)]
        return {comment.id for comment in await asyncio.gather(*made)}

    assert len(with_parts(forge, database_url, both)) == 1
    assert len(bodies(forge)) == 1


def test_another_effect_is_another_comment(forge: StandIn, database_url: str) -> None:
    async def two(context: Context, client: Forge) -> None:
        await posting.comment(context, client, KEY, EFFECT, "One.")
        await posting.comment(context, client, KEY, EFFECT + "2", "Two.")

    with_parts(forge, database_url, two)
    assert [unmarked(body) for body in bodies(forge)] == ["One.", "Two."]


def test_a_comment_whose_answer_was_lost_is_found(forge: StandIn, database_url: str) -> None:
    forge.fail_next("POST", "/comments$", "lost")
    made = with_parts(
        forge, database_url, lambda context, client: posting.comment(context, client, KEY, EFFECT, "Done.")
    )
    assert [comment["id"] for comment in forge.api_as("bob").comments("acme/widget", 1)] == [made.id]


def test_a_comment_that_did_not_arrive_is_written_the_next_time(forge: StandIn, database_url: str) -> None:
    forge.fail_next("POST", "/comments$", "reset")

    async def write(context: Context, client: Forge) -> int:
        return (await posting.comment(context, client, KEY, EFFECT, "Done.")).id

    with pytest.raises(Unreachable):
        with_parts(forge, database_url, write)
    assert bodies(forge) == []
    with_parts(forge, database_url, write)
    assert len(bodies(forge)) == 1


def test_what_was_refused_can_be_done_later(forge: StandIn, database_url: str) -> None:
    async def write(context: Context, client: Forge) -> int:
        return (await posting.comment(context, client, KEY, EFFECT, "Done.")).id

    forge.fail_next("POST", "/comments$", 423, message="<Repository 1:acme/widget> is archived")
    with pytest.raises(Archived):
        with_parts(forge, database_url, write)
    assert with_parts(forge, database_url, write)
    assert len(bodies(forge)) == 1


def test_a_person_who_copies_the_whole_comment_does_not_stand_for_it(
    forge: StandIn, database_url: str
) -> None:
    copied = mark("Done.", EFFECT) + "\n\nWhat does this mean?"
    forge.api_as("bob").comment("acme/widget", 1, copied)

    async def begun_before(context: Context, client: Forge) -> None:
        await context.database.write(effects.begin, EFFECT, str(KEY), "comment", 1.0)
        await posting.comment(context, client, KEY, EFFECT, "Done.")

    with_parts(forge, database_url, begun_before)
    assert len(bodies(forge)) == 2


def test_what_is_written_is_redacted_capped_and_marked(forge: StandIn, database_url: str) -> None:
    async def write(context: Context, client: Forge) -> None:
        text = f"the token is {SECRET}\n" + "x" * 2 * posting.LONGEST
        comment = await posting.comment(context, client, KEY, EFFECT, text)
        await posting.edit(context, client, KEY.repository, comment.id, f"now {SECRET}", EFFECT)
        await posting.comment(context, client, KEY, EFFECT + "2", text)

    with_parts(forge, database_url, write)
    edited, long = bodies(forge)
    assert unmarked(edited) == "now [redacted]"
    assert has_effect(edited, EFFECT)
    assert unmarked(long).startswith("the token is [redacted]\nx") and "too long" in long
    assert len(long) < posting.LONGEST + 500 and is_marked(long)


def test_what_no_forge_stores_is_written_all_the_same(forge: StandIn, database_url: str) -> None:
    odd = "a\0b " + b"caf\xe9".decode("utf-8", "surrogateescape") + " \ud83d"
    with_parts(forge, database_url, lambda parts, client: posting.comment(parts, client, KEY, EFFECT, odd))
    assert unmarked(bodies(forge)[0]).startswith("a\ufffdb caf")


def test_a_comment_that_somebody_deleted_is_not_edited(forge: StandIn, database_url: str) -> None:
    async def write(context: Context, client: Forge) -> None:
        comment = await posting.comment(context, client, KEY, EFFECT, "Done.")
        await comments.delete(client, KEY.repository, comment.id)
        await posting.edit(context, client, KEY.repository, comment.id, "more")

    with pytest.raises(NotFound):
        with_parts(forge, database_url, write)


def test_a_sub_issue_that_was_made_before_the_crash_is_found(forge: StandIn, database_url: str) -> None:
    async def make(context: Context, client: Forge) -> list[int]:
        made = [await posting.issue(context, client, KEY, EFFECT, title="Part one", body="x")]
        await context.database.write(_forget, EFFECT)
        made.append(await posting.issue(context, client, KEY, EFFECT, title="Part one", body="x"))
        return [issue.number for issue in made]

    assert with_parts(forge, database_url, make) == [2, 2]
    assert writes(forge, "/issues") == 2  # with the one that bob opened


def test_a_review_that_was_made_before_the_crash_is_found(forge: StandIn, database_url: str) -> None:
    bob = forge.api_as("bob")
    bob.push("acme/widget", "greeting", {"hello.txt": "hello\n"})
    number = bob.open_pull("acme/widget", "greeting", "Add a greeting")
    key = SessionKey("acme/widget", "pulls", number)

    async def make(context: Context, client: Forge) -> list[int]:
        made = []
        for _ in range(2):
            remarks = [Remark(path="hello.txt", body=f"why {SECRET}?", new_position=1)]
            review = await posting.review(
                context, client, key, EFFECT, event="REQUEST_CHANGES", body="See inline.", remarks=remarks
            )
            made.append(review.id)
            await context.database.write(_forget, EFFECT)
        return made

    first, second = with_parts(forge, database_url, make)
    assert first == second
    inline = bob.do("GET", f"/repos/acme/widget/pulls/{number}/reviews/{first}/comments")
    assert [unmarked(comment["body"]) for comment in inline] == ["why [redacted]?"]


def test_an_effect_is_noted_with_what_came_of_it(forge: StandIn, database_url: str) -> None:
    async def note(context: Context, _client: Forge) -> list[effects.Effect]:
        async def nothing() -> int | None:
            return None

        async def three() -> int:
            return 3

        assert await once(context, "e", "count", "k", find=nothing, do=three, result=int) == 3
        return await context.database.read(effects.of_key, "k")

    (effect,) = with_parts(forge, database_url, note)
    assert (effect.id, effect.kind, effect.is_done, effect.result) == ("e", "count", True, "3")


def with_parts(forge: StandIn, database_url: str, what: Callable[[Context, Forge], Awaitable[T]]) -> T:
    async def run() -> T:
        client = Forge(forge.url, forge.token("fordjent"), first_wait_seconds=0.01)
        async with Database.open(database_url) as database, client:
            return await what(context(database, SECRET), client)

    return asyncio.run(run())


def _forget(connection: Connection, effect_id: str) -> None:
    """As after a crash right before it was noted."""
    connection.execute(update(rows).where(rows.c.id == effect_id).values(state="begun"))
