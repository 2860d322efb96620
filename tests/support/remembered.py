"""Sessions that have worked, as rows of the database, for what remembers them."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, insert, update

from fordjent.models.messages import Message
from fordjent.session_key import SessionKey
from fordjent.store import messages, notes, runs, tool_calls
from fordjent.store.database import Database
from fordjent.store.schema import issues, sessions
from fordjent.store.schema import runs as run_rows

REPOSITORY = "acme/widget"


def session(database: Database, key: str, state: str = "working", **more: Any) -> SessionKey:
    """A session of that key; `more`: other columns."""
    parsed, now = SessionKey.parse(key), time.time()
    row = {
        "key": key,
        "repository": parsed.repository,
        "kind": parsed.kind,
        "number": parsed.number,
        "state": state,
        "created_at": now,
        "changed_at": now,
        **more,
    }
    _write(database, lambda connection: connection.execute(insert(sessions).values(row)))
    return parsed


def titled(database: Database, key: str, title: str) -> None:
    """What is known of the issue or pull request."""
    parsed = SessionKey.parse(key)
    row = {
        "repository": parsed.repository,
        "number": parsed.number,
        "is_pull": parsed.is_pull,
        "title": title,
        "seen_at": time.time(),
    }
    _write(database, lambda connection: connection.execute(insert(issues).values(row)))


def said(database: Database, key: str, *new: Message, run: str = "run-1", at: float | None = None) -> None:
    now = time.time() if at is None else at
    _write(database, lambda connection: messages.append(connection, key, run, 1, new, now))


def did(
    database: Database,
    key: str,
    name: str,
    arguments: str = "{}",
    result: str = "done",
    *,
    run: str = "run-1",
    ended: bool = True,
) -> int:
    """A tool call; its row."""

    def write(connection: Connection) -> int:
        now = time.time()
        row = tool_calls.begin(
            connection, key=key, run=run, turn=1, call="call", name=name, arguments=arguments, now=now
        )
        assert row
        if ended:
            tool_calls.end(connection, row, "done", result, now + 0.5)
        return row

    return database.submit(write).result()


def ran(database: Database, key: str, outcome: str = "completed", reason: str = "", **more: Any) -> str:
    """A run that is over; its id."""

    def write(connection: Connection) -> str:
        run = runs.begin(connection, key, more.pop("role", "implementer"), "builtin", time.time())
        connection.execute(update(run_rows).where(run_rows.c.id == run.id).values(turns=3))
        if outcome:
            runs.end(connection, run.id, outcome, reason, time.time(), **more)
        return run.id

    return database.submit(write).result()


def noted(database: Database, key: str, text: str) -> None:
    _write(database, lambda connection: notes.add(connection, key, "run-1", "implementer", text, time.time()))


def _write(database: Database, function: Any) -> None:
    database.submit(function).result()
