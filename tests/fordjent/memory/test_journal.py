"""memory.jsonl: all that was said and done, once, whatever ends the process, and nothing secret."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fordjent.memory.entries import Entry
from fordjent.memory.journal import OLDER, Journal
from fordjent.models.messages import Message, ToolCall, system, user
from fordjent.session_key import SessionKey
from fordjent.store.database import Database
from harness.effects import STOP_AT
from harness.redaction import Redactor
from tests.support import remembered
from tests.support.server import ROOT, SECRET, write_config

KEY = "acme/Widget/issues/42"


@pytest.fixture
def database(place: Path) -> Iterator[Database]:
    (place / "state").mkdir()
    opened = Database.open(f"sqlite:///{place / 'state/fordjent.db'}")
    remembered.session(opened, KEY)
    yield opened
    opened.close()


@pytest.fixture
def journal(place: Path) -> Journal:
    return Journal.of(place / "state", SessionKey.parse(KEY))


def a_turn(database: Database, number: int = 1, text: str = "I look.") -> None:
    asked = ToolCall(f"call-{number}", "bash", "{}")
    remembered.said(database, KEY, Message("assistant", f"{text} {number}", (asked,)))
    remembered.did(database, KEY, "bash", f'{{"command":"ls {number}"}}', f"file {number}")
    remembered.said(database, KEY, Message("tool", f"file {number}", tool_call_id=asked.id, name="bash"))


def ids(entries: Iterator[Entry]) -> list[str]:
    return [entry.event_id for entry in entries]


def test_everything_is_written_once_and_in_order(database: Database, journal: Journal) -> None:
    remembered.said(database, KEY, system("Rules"), user("It was opened"))
    a_turn(database)
    assert journal.bring_up(database, Redactor()) == 3
    told, answer, call = journal.read()
    assert (told.event_type, told.input) == ("input", "It was opened")
    assert (answer.response, answer.calls) == ("I look. 1", ["bash"])
    assert (call.tool_args, call.tool_result, call.tool_state) == ('{"command":"ls 1"}', "file 1", "done")
    assert (call.session_key, call.repository, call.issue_number, call.seconds) == (
        KEY,
        "acme/Widget",
        42,
        0.5,
    )
    assert journal.bring_up(database, Redactor()) == 0
    a_turn(database, 2)
    assert journal.bring_up(database, Redactor()) == 2
    assert len(set(ids(journal.read()))) == 5


def test_it_is_outside_every_worktree_and_for_its_user_only(
    place: Path, database: Database, journal: Journal
) -> None:
    a_turn(database)
    journal.bring_up(database, Redactor())
    assert journal.path == place / "state/memory/acme/widget/issues-42/memory.jsonl"
    assert journal.path.stat().st_mode & 0o777 == 0o600 and journal.folder.stat().st_mode & 0o777 == 0o700


def test_a_secret_is_taken_out_before_the_cut_also_where_it_stands_across_it(
    database: Database, journal: Journal
) -> None:
    secret = "token-of-the-forge-0123456789"
    for shift in range(0, len(secret), 4):
        long = "x" * (6400 - shift) + secret + "y" * 20_000
        remembered.said(database, KEY, Message("assistant", long))
        remembered.did(database, KEY, "bash", long, long)
    journal.bring_up(database, Redactor([secret]))
    text = journal.path.read_text("utf-8")
    assert secret[:8] not in text and secret[-8:] not in text
    assert "left out here" in text and len(text) < 1_000_000


def test_a_call_that_goes_on_is_written_when_it_is_over(database: Database, journal: Journal) -> None:
    row = remembered.did(database, KEY, "bash", ended=False)
    after = remembered.did(database, KEY, "git")
    assert journal.bring_up(database, Redactor()) == 0
    from fordjent.store import tool_calls

    database.submit(tool_calls.end, row, "failed", "exit 1", 1.0).result()
    assert journal.bring_up(database, Redactor()) == 2
    assert ids(journal.read()) == [f"call:{row}", f"call:{after}"]


def test_half_a_line_that_a_kill_left_is_written_anew(database: Database, journal: Journal) -> None:
    for number in range(3):
        a_turn(database, number)
    journal.bring_up(database, Redactor())
    whole = journal.path.read_bytes()
    for length in range(len(whole) - 1, len(whole) - 900, -37):
        journal.path.write_bytes(whole[:length])
        journal.bring_up(database, Redactor())
        assert journal.path.read_bytes() == whole


def test_a_memory_that_is_gone_or_nothing_but_noise_is_written_again(
    database: Database, journal: Journal
) -> None:
    a_turn(database)
    journal.bring_up(database, Redactor())
    whole = journal.path.read_bytes()
    journal.path.unlink()
    journal.bring_up(database, Redactor())
    assert journal.path.read_bytes() == whole
    journal.path.write_bytes(b"\0" * 4096)
    journal.bring_up(database, Redactor())
    assert ids(journal.read()) == ["message:0", "call:1"]


def test_it_has_a_bound_and_the_oldest_goes_first(place: Path, database: Database) -> None:
    small = Journal(place / "small", SessionKey.parse(KEY), largest_bytes=3000)
    for number in range(60):
        a_turn(database, number, "z" * 200)
    assert small.bring_up(database, Redactor()) == 120
    files = sorted(small.folder.glob("memory.jsonl*"))
    assert len(files) == OLDER + 1 and all(path.stat().st_size <= 3000 for path in files)
    kept = ids(small.read())
    assert kept[-1] == "call:60" and len(kept) == len(set(kept)) < 120
    numbers = [int(one.partition(":")[2]) for one in kept if one.startswith("call:")]
    assert numbers == list(range(numbers[0], 61))  # nothing is missing between
    assert small.bring_up(database, Redactor()) == 0


def test_more_than_a_page_of_both_keeps_its_order(database: Database, journal: Journal) -> None:
    for number in range(450):
        remembered.said(database, KEY, Message("assistant", f"{number}"), at=float(number))
    database.submit(
        lambda connection: connection.exec_driver_sql(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 249) "
            "INSERT INTO tool_calls (key, run, turn, call, name, arguments, state, result, begun_at) "
            f"SELECT '{KEY}', 'run-1', 1, 'c', 'bash', '{{}}', 'done', '', i + 0.5 FROM n"
        )
    ).result()
    assert journal.bring_up(database, Redactor()) == 700
    times = [entry.timestamp for entry in journal.read()]
    assert times == sorted(times)


def test_a_clock_that_was_put_back_loses_nothing(database: Database, journal: Journal) -> None:
    for number in range(250):
        remembered.said(database, KEY, Message("assistant", f"{number}"), at=1000.0 - number)
    assert journal.bring_up(database, Redactor()) == 250
    assert len(set(ids(journal.read()))) == 250


def test_a_database_that_was_made_anew_goes_on_behind_what_is_there(
    place: Path, database: Database, journal: Journal
) -> None:
    for number in range(5):
        remembered.said(database, KEY, Message("assistant", f"before {number}"), at=1000.0)
    journal.bring_up(database, Redactor())
    other = Database.open(f"sqlite:///{place / 'other.db'}")
    try:
        remembered.session(other, KEY)
        remembered.said(other, KEY, Message("assistant", "after"), at=2000.0)
        assert journal.bring_up(other, Redactor()) == 1
        assert journal.bring_up(other, Redactor()) == 0
    finally:
        other.close()
    assert [entry.response for entry in journal.read()][-2:] == ["before 4", "after"]


PROGRAM = f"""
import sys; sys.path.insert(0, {str(ROOT / "lib")!r})
from pathlib import Path
from fordjent.memory.journal import Journal
from fordjent.session_key import SessionKey
from fordjent.store.database import Database
from harness.redaction import Redactor
database = Database.open(f"sqlite:///{{Path('state/fordjent.db').absolute()}}")
Journal(Path("state/killed"), SessionKey.parse({KEY!r}), largest_bytes=2500).bring_up(database, Redactor())
"""


def test_killed_after_each_write_and_each_file_that_was_moved_it_has_everything_once(
    place: Path, database: Database
) -> None:
    clean = Journal(place / "state/clean", SessionKey.parse(KEY), largest_bytes=2500)
    for number, effect in enumerate(["memory-written", "memory-rotated"] * 3):
        a_turn(database, 2 * number, "z" * 300)
        a_turn(database, 2 * number + 1, "z" * 300)
        killed = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={STOP_AT: effect, "PATH": "/usr/bin:/bin"},
            start_new_session=True,
            timeout=60,
        )
        assert killed.returncode in (-9, 0)
    again = Journal(place / "state/killed", SessionKey.parse(KEY), largest_bytes=2500)
    again.bring_up(database, Redactor())
    clean.bring_up(database, Redactor())
    kept = ids(again.read())
    assert kept == ids(clean.read())[-len(kept) :] and len(kept) > 8


def test_the_command_finds_by_tool_time_and_text(place: Path, database: Database) -> None:
    write_config(place)
    remembered.said(database, KEY, user("It was opened"))
    a_turn(database)
    remembered.did(database, KEY, "git", '{"args":["status"]}', f"the secret is {SECRET}")

    def asked(*words: str) -> list[str]:
        ran = subprocess.run(
            [sys.executable, ROOT / "bin/fordjent-memory", "--config", place / "config.toml", *words],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        assert SECRET not in ran.stdout
        return [line.partition('"event_id":"')[2].partition('"')[0] for line in ran.stdout.splitlines()]

    assert asked(KEY) == ["message:0", "message:1", "call:1", "call:2"]
    assert asked(KEY, "--tool", "git") == ["call:2"]
    assert asked(KEY, "--grep", "LS \\d") == ["call:1"]
    assert asked(KEY, "--limit", "1", "--since", "1h") == ["call:2"]
    assert asked(KEY, "--since", "2999-01-01T00:00:00Z") == []


@pytest.mark.parametrize(
    "words",
    [["x"], ["acme/widget/issues/7"], [KEY, "--since", "soon"], [KEY, "--grep", "("], [KEY, "--limit", "-1"]],
)
def test_the_command_says_what_is_wrong(place: Path, database: Database, words: list[str]) -> None:
    write_config(place)
    ran = subprocess.run(
        [sys.executable, ROOT / "bin/fordjent-memory", "--config", place / "config.toml", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode in (64, 65) and '"message"' in ran.stderr and "Traceback" not in ran.stderr
