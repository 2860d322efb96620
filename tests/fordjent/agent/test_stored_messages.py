"""A session's messages in the database: in order, without gaps, and nothing of them ever lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from fordjent.models.messages import Message, ToolCall, answer_to, system, user
from fordjent.store import messages
from fordjent.store.database import Database
from fordjent.store.schema import sessions

KEY = "acme/widget/issues/1"
CALL = ToolCall("a", "bash", '{"command": "ls"}')
SAID = [system("Plän."), user("Task."), Message("assistant", "", (CALL,), tokens=17), answer_to(CALL, "x")]


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    opened = Database.open(f"sqlite:///{place}/fordjent.db")
    for number in (1, 2):
        row = {"key": f"acme/widget/issues/{number}", "repository": "acme/widget", "kind": "issues"}
        row |= {"number": number, "created_at": 1.0, "changed_at": 1.0}  # type: ignore[dict-item]
        opened.submit(lambda connection, row=row: connection.execute(insert(sessions).values(row))).result()
    yield opened
    opened.close()


def append(database: Database, new: list[Message], key: str = KEY) -> None:
    database.submit(messages.append, key, "run-1", 3, new, 5.0).result()


def sent(database: Database) -> list[Message]:
    return [stored.message for stored in database.look(messages.sent, KEY)]


def test_what_was_appended_is_read_back_in_order_and_numbered_without_gaps(database: Database) -> None:
    append(database, SAID[:1])
    append(database, [user("of another")], "acme/widget/issues/2")
    append(database, SAID[1:])
    append(database, [])
    assert sent(database) == SAID
    stored = database.look(messages.all_of, KEY)
    assert [each.seq for each in stored] == [0, 1, 2, 3]
    assert (stored[3].run, stored[3].turn, stored[3].at) == ("run-1", 3, 5.0)


def test_all_of_them_are_there_or_none(database: Database) -> None:
    def fails(connection: object) -> None:
        messages.append(connection, KEY, "run-1", 1, SAID, 1.0)  # type: ignore[arg-type]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.submit(fails).result()
    assert sent(database) == []


def test_what_the_model_is_sent_changes_and_what_was_said_does_not(database: Database) -> None:
    append(database, SAID)
    changes = {2: None, 3: answer_to(CALL, "short")}
    for _ in range(2):
        database.submit(messages.replace, KEY, changes).result()
    assert sent(database) == [*SAID[:2], answer_to(CALL, "short")]
    append(database, [user("More.")])
    assert [stored.seq for stored in database.look(messages.sent, KEY)] == [0, 1, 3, 4]
    everything = database.look(messages.all_of, KEY)
    assert [stored.message for stored in everything] == [*SAID, user("More.")]
    assert [stored.dropped for stored in everything] == [False, False, True, False, False]
    assert [stored.seq for stored in database.look(messages.all_of, KEY, 2)] == [3, 4]
