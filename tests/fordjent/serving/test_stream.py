"""The stream of what happens: live, alive, and resumed where it broke off."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, update

from fordjent.serving.stream import Stream
from fordjent.store import changes
from fordjent.store.changes import Place
from fordjent.store.database import Database
from fordjent.store.numbers import Turn
from fordjent.store.schema import model_calls, sessions, transitions
from tests.support import context, senders, server
from tests.support.server import SECRET, Server

KEY = "acme/widget/issues/1"


@contextmanager
def stream(one: Server, last_event_id: str = "") -> Iterator[Iterator[dict[str, str]]]:
    connection = HTTPConnection(*one.address, timeout=10)
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    connection.request("GET", "/acp/v1/stream", headers=headers)
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")

    def frames() -> Iterator[dict[str, str]]:
        fields: dict[str, str] = {}
        while line := answer.readline():
            name, _, value = line.decode("utf-8").rstrip("\r\n").partition(": ")
            if name:
                fields[name] = value
            elif fields:
                yield fields
                fields = {}

    try:
        yield (frame for frame in frames() if "event" in frame)
    finally:
        connection.close()


def deliver(one: Server, *ids: str) -> None:
    assert len(senders.send(one.address, SECRET, ids, connections=1).acknowledged) == len(ids)


def test_what_happens_is_seen_at_once_and_what_was_missed_is_seen_after_coming_back(place: Path) -> None:
    with server.started(server.write_config(place)) as one:
        deliver(one, "before")
        with stream(one) as frames:
            begun = time.monotonic()
            deliver(one, "d1", "d2")
            first, second = next(frames), next(frames)
            assert time.monotonic() - begun < 10
        assert first["event"] == "delivery" and first["id"] != second["id"]
        assert json.loads(first["data"])["repository"] == "acme/widget"
        deliver(one, "d3", "d4")
        with stream(one, first["id"]) as frames:
            assert next(frames)["id"] == second["id"]
            third = next(frames)
        with stream(one, third["id"]) as frames:
            last = next(frames)
        assert last["id"] not in (first["id"], second["id"], third["id"])


def test_an_idle_stream_says_that_it_is_alive(place: Path) -> None:
    async def scenario() -> bytes:
        with context.opened(place) as shared:
            stopping = asyncio.Event()
            said: list[bytes] = []

            async def send(message: Any) -> None:
                said.append(message.get("body", b""))
                if any(b"ping" in part for part in said):
                    stopping.set()
                    shared.bus.woke("changes")

            async def receive() -> Any:
                await asyncio.Event().wait()

            from starlette.requests import Request

            scope = {"type": "http", "method": "GET", "headers": []}
            opened = Stream(shared, stopping, heartbeat_seconds=0.05)
            async with asyncio.timeout(10):
                await (await opened.answer(Request(scope)))(scope, receive, send)
            return b"".join(said)

    assert b"ping" in asyncio.run(scenario())


def session(connection: Connection) -> None:
    row = {
        "key": KEY,
        "repository": "acme/widget",
        "kind": "issues",
        "number": 1,
        "created_at": 0.0,
        "changed_at": 0.0,
    }
    connection.execute(insert(sessions).values(row))


def call(connection: Connection, state: str, turn: int) -> int:
    row = {
        "key": KEY,
        "run": "r",
        "repository": "acme/widget",
        "role": "pm",
        "turn": turn,
        "provider": "main",
        "model": "m",
    }
    made = connection.execute(insert(model_calls).values(**row, state=state, at=0.0)).inserted_primary_key
    assert made
    return int(made[0])


def turns(found: changes.Found) -> list[int]:
    return [one.data.turn for one in found.happened if isinstance(one.data, Turn)]


def test_changes_and_turns_are_in_it_and_a_turn_that_is_over_late_is_not_missed(place: Path) -> None:
    database = Database.open(f"sqlite:///{place / 'a.db'}")
    database.submit(session).result(10)
    start = database.look(changes.end)
    change = {"key": KEY, "from_state": "created", "to_state": "working", "reason": "", "at": 0.0}
    database.submit(
        lambda connection: connection.execute(insert(transitions).values(change)) and None
    ).result(10)
    slow = database.submit(call, "reserved", 1).result(10)
    database.submit(call, "answered", 2).result(10)
    first = database.look(changes.after, start)
    assert [one.kind for one in first.happened] == ["transition", "turn"] and turns(first) == [2]
    again = database.look(changes.after, first.place, first.seen)
    assert again.happened == []
    database.submit(
        lambda connection: (
            connection.execute(update(model_calls).where(model_calls.c.id == slow).values(state="answered"))
            and None
        )
    ).result(10)
    second = database.look(changes.after, again.place, again.seen)
    assert turns(second) == [1] and second.seen == frozenset()
    assert turns(database.look(changes.after, second.place)) == []
    assert turns(database.look(changes.after, first.place)) == [1, 2]  # who comes back there misses none
    database.close()


def test_a_place_is_read_as_it_is_written_and_nonsense_is_none() -> None:
    assert Place.parse(str(Place(1, 2, 3))) == Place(1, 2, 3)
    for nonsense in ("", "1", "1-2", "1-2-x", "1-2-3-4", "-1-2-3", "1-2-" + "9" * 30):
        assert Place.parse(nonsense) is None
