"""What a session is told of what was done before: by its own runs, and by those on its pull request or issue.

From the database; and from the summary in the repository, so that it is there also where this server
has forgotten everything.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection

from fordjent import threads
from fordjent.context import Context
from fordjent.gates.protection import default_branch
from fordjent.memory.naming import path_of
from fordjent.memory.tree import text_at
from fordjent.store import issues, memories, notes, runs, sessions
from fordjent.store.sessions import Session
from fordjent.workspaces.place import Place
from harness import cutting
from harness.clock import timestamp
from harness.errors import BadData
from harness.worktrees.pair import REMOTE

RUNS = 10
NOTES_CHARACTERS = 12_000
SUMMARY_CHARACTERS = 8_000
WORDS_CHARACTERS = 2_000


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is over. `on`: "issue #1" or "pull request #2"; `tools`: "bash 4", the most used first."""

    at: str
    on: str
    role: str
    outcome: str
    reason: str
    turns: int
    tools: tuple[str, ...] = ()


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """Oldest first. `pull` 0: there is no pull request; `summary` "": none stands at `summary_path`."""

    runs: tuple[Worked, ...] = ()
    runs_left_out: int = 0
    notes: tuple[str, ...] = ()
    pull: int = 0
    pull_state: str = ""
    last_words: str = ""
    summary: str = ""
    summary_path: str = ""


NOTHING = Past()


async def of(context: Context, session: Session, place: Place | None) -> Past:
    """Everything that is known, each part with a bound. `place` None: the repository is not looked at."""
    past, numbers = await context.database.read(_known, session)
    redact = context.redactor.redact
    if place is not None:
        folder = context.config.memory.compaction_path
        found = await threads.run(_summary, place, folder, numbers)
        if found:
            path, text = found
            past = msgspec.structs.replace(past, summary=redact(text)[:SUMMARY_CHARACTERS], summary_path=path)
    return past


def related(connection: Connection, session: Session) -> list[Session]:
    """The session itself, and the one of its pull request, or of the issue that its pull request is from."""
    if session.kind == "pulls":
        other = sessions.about_pull(connection, session.repository, session.number)
    else:
        other = sessions.get(connection, f"{session.repository}/pulls/{session.pull}")
    return [session, other] if other else [session]


def worked(connection: Connection, of: Iterable[Session], newest: int = RUNS) -> tuple[list[Worked], int]:
    """The newest runs of sessions that are over, oldest first, and how many there are besides."""
    found = [(run, one) for one in of for run in runs.of(connection, one.key) if run.outcome]
    found.sort(key=lambda pair: pair[0].started_at)
    shown = [
        Worked(
            at=timestamp(run.started_at),
            on=f"{'pull request' if one.kind == 'pulls' else 'issue'} #{one.number}",
            role=run.role,
            outcome=run.outcome,
            reason=run.reason,
            turns=run.turns,
            tools=memories.tools(connection, one.key, run.id),
        )
        for run, one in found[-newest:]
    ]
    return shown, len(found) - len(shown)


def _known(connection: Connection, session: Session) -> tuple[Past, list[int]]:
    """What the database has, and the numbers by which a summary may be known."""
    both = related(connection, session)
    done, left_out = worked(connection, both)
    noted = [note.text for one in both for note in notes.of_key(connection, one.key)]
    pull = session.number if session.kind == "pulls" else session.pull
    known = issues.get(connection, session.repository, pull) if pull else None
    past = Past(
        runs=tuple(done),
        runs_left_out=left_out,
        notes=tuple(_newest(noted)),
        pull=pull,
        pull_state=known.state if known else "",
        last_words=cutting.beginning(
            memories.last_words(connection, [one.key for one in both]), WORDS_CHARACTERS
        ),
    )
    return past, [one.number for one in reversed(both)]


def _newest(noted: list[str]) -> list[str]:
    """As many as there is room for, oldest first."""
    room, kept = NOTES_CHARACTERS, list[str]()
    for note in reversed(noted):
        room -= len(note)
        if room < 0:
            break
        kept.append(note)
    return list(reversed(kept))


def _summary(place: Place, folder: str, numbers: list[int]) -> tuple[str, str] | None:
    """Path and text of the one on the default branch."""
    commit = place.control.resolve(f"{REMOTE}{default_branch(place.control)}")
    if commit is None:
        return None
    for number in numbers:
        try:
            text = text_at(place.control, commit, path_of(folder, number))
        except BadData:
            continue
        if text.strip():
            return path_of(folder, number), text
    return None
