"""What an entomologist tracker holds, as values."""

from __future__ import annotations

from typing import Literal

import msgspec

from harness.errors import BadData

State = Literal["new", "backlog", "blocked", "inprogress", "done", "wontdo"]
STATES: tuple[State, ...] = ("new", "backlog", "blocked", "inprogress", "done", "wontdo")
OPEN_STATES: tuple[State, ...] = ("blocked", "inprogress", "backlog", "new")

SHORTEST_PREFIX = 4
"""An id may be shortened to its first characters, from this many on."""


class NotFound(BadData):
    """No issue or comment has that id."""

    code = "not_found"


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment; `creation_time` is RFC 3339 as `format.write_time` writes it."""

    id: str
    author: str
    creation_time: str
    description: str


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue, whole. `assignee` None: no such file; "": an empty one."""

    id: str
    description: str
    state: State = "new"
    author: str = ""
    assignee: str | None = None
    creation_time: str = ""
    done_time: str | None = None
    tags: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()

    @property
    def title(self) -> str:
        return self.description.split("\n", 1)[0].rstrip("\r")


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What selection asks of every issue; `tree` is the id of the issue's folder in git."""

    id: str
    tree: str
    state: State = "new"
    assignee: str | None = None
    unreadable: str = ""
    """Why the entry cannot be read; then state and assignee mean nothing."""
