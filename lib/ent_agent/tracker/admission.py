"""One comparison of an agent's tracker with the one it began with: what of it is taken, and why the rest is not.

Bounded whatever the agent's tree holds: so many issues, comments, names and texts are
looked at, the rest is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ent_agent.tracker import admissible
from ent_agent.tracker.admissible import Contents
from ent_agent.tracker.pending import Pending
from harness.errors import BadData
from harness.git import Person
from harness.objects import FILE, TREE, Entry, Tree

MAX_CHANGED = 1000
MAX_NEW_ISSUES = 100
MAX_NEW_COMMENTS = 500
MAX_NAMES = 100
MAX_DROPPED = 200
MAX_SHOWN = 300

IsAgent = Callable[[str | None], bool]
Check = Callable[[Contents, Entry | None], Entry]
Path = tuple[bytes, ...]

SETS = (b"tags", b"dependencies")
OWN_FIELDS: dict[bytes, Check] = {
    b"state": admissible.state,
    b"assignee": admissible.line,
    b"description": admissible.description,
    b"done_time": admissible.time,
}
NEW_FIELDS = {**OWN_FIELDS, b"creation_time": admissible.time}


@dataclass(frozen=True)
class Dropped:
    """A path of the agent's tree that was not taken; "" stands for all of it."""

    path: str
    why: str


class Admission:
    """One admission; `_dropped` collects what was not taken."""

    def __init__(
        self, store: Pending, contents: Contents, own: bytes, is_agent: IsAgent, person: Person | None
    ) -> None:
        self._store = store
        self._contents = contents
        self._person = person
        self._own = own
        self._is_agent = is_agent
        self._issues: set[bytes] = set()
        self._left = {"issues": MAX_NEW_ISSUES, "comments": MAX_NEW_COMMENTS}
        self._dropped: list[Dropped] = []
        self._dropped_more = 0

    def dropped(self) -> tuple[Dropped, ...]:
        more = [Dropped("", f"{self._dropped_more} more changes")] if self._dropped_more else []
        return (*self._dropped, *more)

    def root(self, before: Tree, after: Tree) -> Tree:
        """`before`, with what is taken of `after`; its own issue first, then new ones, then the others."""
        self._issues = {name for tree in (before, after) for name, entry in tree.items() if entry.is_tree}
        changed = sorted(_changed(before, after), key=lambda name: (name != self._own, name in before, name))
        taken = dict(before)
        for name in self._some(changed, MAX_CHANGED):
            self._replace(taken, (name,), self._issue, before.get(name), after.get(name))
        return taken

    # ---- what may stand at a path: the entry to write, None to remove it, or BadData

    def _issue(self, path: Path, before: Entry | None, after: Entry | None) -> Entry | None:
        if after is None:
            raise BadData("was deleted")
        if not after.is_tree or (before and not before.is_tree):
            raise BadData("is not an issue")
        old, new = self._contents.folder(before), self._contents.folder(after)
        if before:
            return self._write(self._fields(path, old, new, OWN_FIELDS if path[0] == self._own else {}))
        admissible.check_id(path[0])
        admissible.description(self._contents, new.get(b"description"))
        self._count("issues")
        taken = self._fields(path, {}, new, NEW_FIELDS)
        self._replace(taken, (*path, b"author"), self._author, new.get(b"author"))
        return self._write(taken)

    def _fields(self, path: Path, old: Tree, new: Tree, allowed: Mapping[bytes, Check]) -> Tree:
        """The entries of an issue: `old`, with what is `allowed` of `new`, and new comments."""
        taken = dict(old)
        for name in self._some(sorted(_changed(old, new)), MAX_CHANGED):
            before, after, where = old.get(name), new.get(name), (*path, name)
            if name == b"comments":
                self._replace(taken, where, self._comments, before, after)
            elif allowed and name in SETS:
                self._replace(taken, where, self._names, before, after)
            elif name in allowed:
                self._replace(taken, where, self._value, allowed[name], after)
            elif old or name != b"author":
                self._drop(where, "is not the agent's to change")
        return taken

    def _value(self, path: Path, check: Check, entry: Entry | None) -> Entry | None:
        if path[-1] == b"assignee":
            if entry is None:
                return None
            if self._is_agent(self._contents.line(entry)):
                raise BadData("is an assignment to the agent itself")
        return check(self._contents, entry)

    def _names(self, path: Path, before: Entry | None, after: Entry | None) -> Entry | None:
        """Tags or dependencies; None when none is left."""
        old, new = self._contents.folder(before), self._contents.folder(after)
        taken = {name: entry for name, entry in old.items() if name in new}
        for name in self._some(sorted(new.keys() - old.keys()), MAX_NAMES):
            self._replace(taken, (*path, name), self._name)
        return self._write(taken)

    def _name(self, path: Path) -> Entry:
        if path[1] == b"tags":
            admissible.check_tag(path[2])
        elif path[2] == path[0]:
            raise BadData("is the issue itself")
        elif path[2] not in self._issues:
            raise BadData("names an issue that is not there")
        return Entry(FILE, self._store.write("blob", b""))

    def _comments(self, path: Path, before: Entry | None, after: Entry | None) -> Entry | None:
        old, new = self._contents.folder(before), self._contents.folder(after)
        taken = dict(old)
        for name in self._some(sorted(_changed(old, new)), MAX_CHANGED):
            self._replace(taken, (*path, name), self._comment, old.get(name), new.get(name))
        return self._write(taken)

    def _comment(self, path: Path, before: Entry | None, after: Entry | None) -> Entry | None:
        if before:
            raise BadData("is a comment that was there before")
        admissible.check_id(path[-1])
        files = self._contents.folder(after)
        taken = {b"description": admissible.description(self._contents, files.get(b"description"))}
        self._count("comments")
        for name in self._some(sorted(files.keys() - {b"description", b"author"}), MAX_CHANGED):
            if name == b"creation_time":
                self._replace(taken, (*path, name), self._value, admissible.time, files[name])
            else:
                self._drop((*path, name), "is no part of a comment")
        self._replace(taken, (*path, b"author"), self._author, files.get(b"author"))
        return self._write(taken)

    def _author(self, path: Path, entry: Entry | None) -> Entry | None:
        """What is new is the agent's own, whatever name it wrote there."""
        person = self._person
        if entry is not None:
            try:
                name = self._contents.line(entry)
                if person is None or name == str(person) or self._is_agent(name):
                    return Entry(FILE, entry.oid)
                self._drop(path, "is another's name; replaced by the agent's")
            except BadData as error:
                self._drop(path, f"{error.message}; replaced by the agent's")
        return Entry(FILE, self._store.write("blob", str(person).encode())) if person else None

    # ---- bookkeeping

    def _replace(self, taken: Tree, path: Path, make: Callable[..., Entry | None], *args: object) -> None:
        """Put what `make` makes of a path into `taken`; where it refuses, what was there stays."""
        try:
            entry = make(path, *args)
        except BadData as error:
            self._drop(path, error.message)
            return
        taken.pop(path[-1], None)
        if entry is not None:
            taken[path[-1]] = entry

    def _some(self, names: list[bytes], limit: int) -> list[bytes]:
        self._dropped_more += len(names[limit:])
        return names[:limit]

    def _count(self, what: str) -> None:
        if not self._left[what]:
            raise BadData(f"is one too many: the agent made more {what} than one run may")
        self._left[what] -= 1

    def _drop(self, path: Path, why: str) -> None:
        if len(self._dropped) >= MAX_DROPPED:
            self._dropped_more += 1
            return
        text = b"/".join(path).decode("utf-8", "backslashreplace")
        shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
        self._dropped.append(Dropped(shown[:MAX_SHOWN], why))

    def _write(self, tree: Tree) -> Entry | None:
        return Entry(TREE, self._store.write_tree(tree)) if tree else None


def _changed(old: Tree, new: Tree) -> set[bytes]:
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
