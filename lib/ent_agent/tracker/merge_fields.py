"""Which of two different values of a field stands, and what becomes of the other.

The order is: readable, then later, then rank, then bytes. It is total and the same from
both sides, so that every host comes to the same tree.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from ent_agent.tracker.format import Instant, decode, parse_state, parse_time, trim
from ent_agent.tracker.merge_cells import Cell, Store
from ent_agent.tracker.merge_clock import Clock, Given, Side
from ent_agent.tracker.model import State
from harness.errors import BadData
from harness.objects import FILE, GITLINK, TREE, Entry

TIE_ORDER: tuple[State, ...] = ("inprogress", "new", "backlog", "blocked", "done", "wontdo")

T = TypeVar("T")

Rank = Callable[[Entry | None], tuple[bool, int]]
"""Whether a value is readable, and its place among those given in the same second."""


class Verdict(NamedTuple):
    """The value that stands, and the one that does not with the commit that gave it."""

    winner: Entry | None
    loser: Entry | None
    lost: Given


class Fields:
    """The choices, on the objects of one store and the clock of one merge."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def state(self, cell: Cell) -> Verdict:
        """No file means new, and is compared as that."""

        def rank(entry: Entry | None) -> tuple[bool, int]:
            if entry is None:
                return True, TIE_ORDER.index("new")
            state = self._parsed(entry, parse_state)
            return state is not None, TIE_ORDER.index(state) if state else 0

        return self._later(cell, rank)

    def text(self, cell: Cell) -> Verdict:
        """Assignee, author, description. No file is a value like any other (unassigned)."""
        return self._later(cell, self._readable(decode))

    def config(self, cell: Cell) -> Verdict:
        """config.toml: one that cannot be read makes a tracker unreadable for `ent`."""
        return self._later(cell, self._readable(_parse_toml))

    def any(self, cell: Cell) -> Verdict:
        """A file that we know nothing about. A submodule cannot be an issue."""
        return self._later(cell, lambda entry: (entry is None or entry.mode != GITLINK, 0))

    def done_time(self, cell: Cell) -> Entry | None:
        """The last completion; present wins."""
        return self._by_instant(cell, max)

    def creation_time(self, cell: Cell) -> Entry | None:
        """The first creation; present wins."""
        return self._by_instant(cell, min)

    def lost_text(self, issue_id: bytes, which: str, verdict: Verdict) -> tuple[bytes, Entry] | None:
        """A description that lost, as a comment: its id is derived, so that every host makes the same one.

        None: it is not text.
        """
        loser = verdict.loser
        text = self._parsed(loser, decode) if loser else None
        if loser is None or text is None:
            return None
        source = b"\0".join([b"ent-agent-merge", issue_id, which.encode(), loser.oid.encode()])
        head = f"The {which} was changed on two sides at once. The other side's text:\n\n"
        files = {
            "description": head + text,
            "author": verdict.lost.author,
            "creation_time": _time(verdict.lost),
        }
        tree = {
            name.encode(): Entry(FILE, self._store.write("blob", content.encode()))
            for name, content in files.items()
        }
        comment_id = hashlib.sha256(source).hexdigest()[:32].encode()
        return comment_id, Entry(TREE, self._store.write_tree(tree))

    # ---- the order

    def _later(self, cell: Cell, rank: Rank) -> Verdict:
        def key(side: Side, entry: Entry | None) -> tuple[bool, int, int, tuple[int, str]]:
            readable, place = rank(entry)
            return readable, self._clock(side, cell.path).time, place, entry or (0, "")

        if key("ours", cell.ours) > key("theirs", cell.theirs):
            return Verdict(cell.ours, cell.theirs, self._clock("theirs", cell.path))
        return Verdict(cell.theirs, cell.ours, self._clock("ours", cell.path))

    def _by_instant(self, cell: Cell, pick: Callable[..., Instant]) -> Entry | None:
        if cell.ours is None or cell.theirs is None:
            return cell.ours or cell.theirs
        both = (cell.ours, cell.theirs)
        instants = {entry: self._parsed(entry, lambda data: parse_time(trim(decode(data)))) for entry in both}
        readable = [instant for instant in instants.values() if instant is not None]
        best = pick(readable) if readable else None
        return max(entry for entry in both if instants[entry] == best)

    def _readable(self, parse: Callable[[bytes], object]) -> Rank:
        return lambda entry: (entry is None or self._parsed(entry, parse) is not None, 0)

    def _parsed(self, entry: Entry, parse: Callable[[bytes], T]) -> T | None:
        """None when it is no file or cannot be parsed."""
        if not entry.is_file:
            return None
        data = self._store.read(entry.oid)
        try:
            return parse(data)
        except BadData:
            return None


def _parse_toml(data: bytes) -> dict[str, object]:
    try:
        return tomllib.loads(decode(data))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadData(f"not TOML: {error}") from error


def _time(given: Given) -> str:
    """RFC 3339 in UTC on every host, in the years that `ent` can read."""
    seconds = min(max(given.time, 0), 253370764800)  # 9999-01-01
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")
