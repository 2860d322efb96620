"""memory.jsonl of a session, below the state folder and outside every worktree.

The database is what counts: the file is written from it, and its last whole line says how far. So a
kill loses nothing and writes nothing twice, and a file that is gone is written again. All of it blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise, takewhile
from math import inf
from pathlib import Path

import msgspec

from fordjent.memory import entries
from fordjent.memory.entries import Entry, Through
from fordjent.session_key import SessionKey
from fordjent.store import messages, tool_calls
from fordjent.store.database import Database
from fordjent.store.messages import Stored
from fordjent.store.tool_calls import Done
from harness import lock
from harness.effects import reached
from harness.redaction import Redactor

NAME = "memory.jsonl"
LARGEST_BYTES = 4 * 1024 * 1024
OLDER = 4
"""Files of that size that are kept beside the newest, `memory.jsonl.1` the youngest of them."""
PAGE = 200
TAIL_BYTES = 512 * 1024
"""No line is longer."""
LOCK_SECONDS = 30.0


@dataclass(frozen=True)
class Journal:
    folder: Path
    key: SessionKey
    largest_bytes: int = LARGEST_BYTES

    @classmethod
    def of(cls, state_dir: Path, key: SessionKey) -> Journal:
        """Where the memory of a session is, in lower case as the repository's folder is."""
        return cls(state_dir / "memory" / key.repository.lower() / f"{key.kind}-{key.number}", key)

    @property
    def path(self) -> Path:
        return self.folder / NAME

    def bring_up(self, database: Database, redactor: Redactor) -> int:
        """Write what the database has more; how many lines that were.

        Raises:
            Busy: another process is at it for long.
            OSError: the disk refuses. What was written stays whole.
        """
        with self._locked():
            through, written_until = self._begin(database)
            written = 0
            while True:
                said, done = _page(database, str(self.key), through)
                new = list(entries.of(self.key, said, done, through, redactor, after=written_until))
                self._append(new)
                written += len(new)
                if not said and not done:
                    return written
                through = Through(
                    said[-1].seq if said else through.message, done[-1].id if done else through.call
                )

    def read(self) -> Iterator[Entry]:
        """Every line that there is, oldest first; one that is no entry is left out."""
        with self._locked():
            files = [path.open("rb") for path in self._files() if path.is_file()]
        for file in files:
            with file:
                yield from filter(None, map(_decoded, file))

    # ---- parts

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock.held(self.folder / "lock", timeout_seconds=LOCK_SECONDS, what=f"the memory of {self.key}"):
            yield

    def _files(self) -> list[Path]:
        older = [self.folder / f"{NAME}.{number}" for number in range(OLDER, 0, -1)]
        return [*older, self.path]

    def _begin(self, database: Database) -> tuple[Through, float]:
        """Where to go on; and, of a database that has less than was written, up to when that was written."""
        last = self._last()
        if last is None:
            return Through(), -inf
        key = str(self.key)
        newest = Through(database.look(messages.last_seq, key), database.look(tool_calls.last_id, key))
        if last.through.message <= newest.message and last.through.call <= newest.call:
            return last.through, -inf
        return Through(), datetime.fromisoformat(last.timestamp).timestamp()

    def _last(self) -> Entry | None:
        """The newest whole line; half a line after it is taken away."""
        for path in reversed(self._files()):
            if path.is_file():
                _end_with_a_line(path)
                for line in reversed(_tail(path)):
                    entry = _decoded(line)
                    if entry:
                        return entry
        return None

    def _append(self, new: list[Entry]) -> None:
        block: list[bytes] = []
        size = self.path.stat().st_size if self.path.exists() else 0
        for entry in new:
            line = msgspec.json.encode(entry) + b"\n"
            if size and size + len(line) > self.largest_bytes:
                self._write(b"".join(block))
                self._rotate()
                block, size = [], 0
            block.append(line)
            size += len(line)
        self._write(b"".join(block))

    def _write(self, data: bytes) -> None:
        if not data:
            return
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            reached("memory-written")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _rotate(self) -> None:
        """From the oldest on, so that a kill in between leaves a gap and loses nothing."""
        files = self._files()
        for older, younger in pairwise(files):
            if younger.exists():
                younger.replace(older)
                reached("memory-rotated")


def _page(database: Database, key: str, through: Through) -> tuple[list[Stored], list[Done]]:
    """The next messages and calls; of both no more than up to the time to which both are there."""
    said = database.look(messages.all_of, key, through.message, PAGE)
    done = database.look(tool_calls.ended, key, through.call, PAGE)
    until = min(
        max(one.at for one in said) if len(said) == PAGE else inf,
        max(one.begun_at for one in done) if len(done) == PAGE else inf,
    )
    return (
        list(takewhile(lambda one: one.at <= until, said)),
        list(takewhile(lambda one: one.begun_at <= until, done)),
    )


def _decoded(line: bytes) -> Entry | None:
    try:
        return msgspec.json.decode(line, type=Entry)
    except msgspec.MsgspecError:
        return None


def _tail(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - TAIL_BYTES, 0))
        return file.read().splitlines()


def _end_with_a_line(path: Path) -> None:
    """Cut off what follows the last line end: it was being written when the process ended."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - TAIL_BYTES, 0))
        tail = file.read()
    whole = tail.rfind(b"\n") + 1
    if whole < len(tail):
        os.truncate(path, size - len(tail) + whole)
