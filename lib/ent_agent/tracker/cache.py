"""What was read of a tracker, kept in a file: an issue's folder that has the same id has the same content."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ent_agent.tracker.format import Instant
from ent_agent.tracker.model import State
from harness import atomic

VERSION = 1
MISSING = "is missing from the repository"
"""How the reason ends where an object is not there (a partial clone, a damaged repository)."""


class Row(msgspec.Struct, frozen=True, array_like=True):
    """What a list shows of an issue beside its summary. `created` None: no such file, ask the history."""

    title: str = ""
    created: Instant | None = None
    done: Instant | None = None
    tags: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    comments: int = 0
    unreadable: str = ""


class Known(msgspec.Struct, array_like=True):
    """One issue; `tree` is the id of its folder. `row` None: not read yet."""

    tree: str
    state: State
    assignee: str | None
    unreadable: str
    row: Row | None = None


class Cache(msgspec.Struct, array_like=True):
    """The issues of one root tree, by id. Bounded: those of another root go when the next is stored."""

    version: int = VERSION
    root: str = ""
    issues: dict[str, Known] = {}


class CacheFile:
    """The cache in a file (None: in none). `changed`: there is more than the file has."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.cache = _load(path)
        self.changed = False

    def store(self) -> None:
        """Replace the file where that is of use; where it cannot be written the next look takes longer.

        What was unreadable only because objects are missing is left out: they may come.
        """
        if self._path is None or not self.changed:
            return
        self.changed = False
        lacking = {key for key, known in self.cache.issues.items() if _why(known).endswith(MISSING)}
        kept = self.cache
        if lacking:
            kept = Cache(issues={key: known for key, known in kept.issues.items() if key not in lacking})
        try:
            atomic.write_bytes(self._path, msgspec.msgpack.encode(kept), durable=False)
        except OSError:
            return


def _load(path: Path | None) -> Cache:
    """What is in `path`; an empty cache when that is missing, damaged or of another version."""
    if path is None:
        return Cache()
    try:
        found = msgspec.msgpack.decode(path.read_bytes(), type=Cache)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return Cache()
    return found if found.version == VERSION else Cache()


def _why(known: Known) -> str:
    return known.unreadable or (known.row.unreadable if known.row else "")
