"""Which issues a list shows: `state=new,done`, `assignee=seb,`, `tag=bug,-docs`, `done-time=A..B`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ent_agent.tracker import format
from ent_agent.tracker.cache import Row
from ent_agent.tracker.format import Instant
from ent_agent.tracker.model import OPEN_STATES, State
from harness.errors import BadData


class Filter(NamedTuple):
    """Conditions that all must hold; an empty set of assignees or tags asks for nothing."""

    states: frozenset[State] = frozenset(OPEN_STATES)
    assignees: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    without_tags: frozenset[str] = frozenset()
    done_from: Instant | None = None
    done_to: Instant | None = None

    def takes(self, state: State, assignee: str | None) -> bool:
        """Whether these pass. No assignee is the same as an empty one."""
        return state in self.states and (not self.assignees or (assignee or "") in self.assignees)

    def takes_row(self, row: Row) -> bool:
        """Whether the rest passes. An issue that has no done-time always does."""
        tags = frozenset(row.tags)
        if (self.tags and not tags & self.tags) or tags & self.without_tags:
            return False
        if row.done is None:
            return True
        return (self.done_from is None or row.done >= self.done_from) and (
            self.done_to is None or row.done <= self.done_to
        )


class UnknownFilter(BadData):
    """No filter has that name; `text` is what was given."""

    def __init__(self, text: str) -> None:
        super().__init__("Failed to parse filter")
        self.text = text


def parse(texts: Iterable[str]) -> Filter:
    """The filter of several arguments; of two with the same name the later one counts.

    Raises:
        BadData: one is not a filter; entomologist's words for it.
    """
    found = Filter()
    for text in texts:
        parts = text.split("=")
        if len(parts) != 2:
            raise BadData("Failed to parse filter")
        name, condition = parts
        if name == "state":
            found = found._replace(
                states=frozenset(format.state_named(word) for word in condition.split(","))
            )
        elif name == "assignee":
            found = found._replace(assignees=frozenset(condition.split(",")))
        elif name == "tag":
            found = _tags(found, condition.split(","))
        elif name == "done-time":
            found = _done(found, condition)
        else:
            raise UnknownFilter(text)
    return found


def _tags(found: Filter, words: list[str]) -> Filter:
    if "" in words:
        raise BadData("Failed to parse filter")
    return found._replace(
        tags=frozenset(word for word in words if not word.startswith("-")),
        without_tags=frozenset(word[1:] for word in words if word.startswith("-")),
    )


def _done(found: Filter, condition: str) -> Filter:
    ends = condition.split("..")
    if len(ends) != 2:
        raise BadData("Failed to parse filter", hint="a range of times is START..END; either may be left out")
    start, end = (format.parse_time(text) if text else None for text in ends)
    return found._replace(done_from=start, done_to=end)
