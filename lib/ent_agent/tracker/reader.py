"""One commit of a tracker, read without a checkout.

The tree is walked through one `git cat-file` process: root, issue folders, and then only
the objects that the question needs. Each entry is parsed on its own: one that cannot be
read is told by its id, with the reason, and hides no other.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from ent_agent.tracker import walk
from ent_agent.tracker.cache import Cache, CacheFile, Known, Row
from ent_agent.tracker.history import Origin, origins
from ent_agent.tracker.issue_reader import read_issues, read_rows
from ent_agent.tracker.layout import IssueFolder
from ent_agent.tracker.model import SHORTEST_PREFIX, Issue, NotFound, State, Summary
from ent_agent.tracker.walk import Entries
from harness.errors import BadData
from harness.git import Git
from harness.objects import parse_tree


def open_tracker(git: Git, ref: str, cache: Path | None = None) -> Tracker | None:
    """The tracker at a ref (full name) just now; None when there is no such ref."""
    commit = git.objects.resolve(ref)
    return Tracker(git, commit, cache) if commit else None


class Selected(NamedTuple):
    """Readable issues by id, and those that cannot be read, with the reason."""

    rows: dict[str, tuple[Summary, Row]]
    unreadable: dict[str, str]


class Tracker:
    """One commit of a data branch, read-only. `cache`: a file that keeps what was read."""

    def __init__(self, git: Git, commit: str, cache: Path | None = None) -> None:
        self.git = git
        self.commit = commit
        self._cache_path = cache

    def summaries(self) -> list[Summary]:
        """State and assignee of all issues, in the order of ids; unreadable ones too."""
        return [self._summary(issue_id) for issue_id in self._known]

    def select(self, takes: Callable[[State, str | None], bool]) -> Selected:
        """What a list shows of those issues whose state and assignee `takes` says yes to."""
        taken = {
            issue_id: known
            for issue_id, known in self._known.items()
            if not known.unreadable and takes(known.state, known.assignee)
        }
        rows = self.rows(taken)
        unreadable = {key: known.unreadable for key, known in self._known.items() if known.unreadable}
        unreadable |= {key: row.unreadable for key, row in rows.items() if row.unreadable}
        return Selected(
            {key: (self._summary(key), row) for key, row in rows.items() if not row.unreadable}, unreadable
        )

    def _summary(self, issue_id: str) -> Summary:
        known = self._known[issue_id]
        return Summary(
            id=issue_id,
            tree=known.tree,
            state=known.state,
            assignee=known.assignee,
            unreadable=known.unreadable,
        )

    def rows(self, ids: Iterable[str]) -> dict[str, Row]:
        """What a list shows of these issues; comments are counted, not read."""
        wanted = [issue_id for issue_id in ids if not self._known[issue_id].unreadable]
        unread = {issue_id: self._trees[issue_id] for issue_id in wanted if not self._known[issue_id].row}
        if unread:
            folders = self._folders(unread)
            good = {key: folder for key, folder in folders.items() if not isinstance(folder, BadData)}
            with walk.collector_paused():
                for issue_id, read in read_rows(self.git, good):
                    self._known[issue_id].row = read
            self._file.changed = True
        rows = {issue_id: row for issue_id in wanted if (row := self._known[issue_id].row)}
        return self._dated(rows)

    def issue(self, issue_id: str) -> Issue:
        """One issue, whole.

        Raises:
            BadData: it cannot be read; names it and the file.
            NotFound: there is none of that id.
        """
        return self.issues([issue_id])[0]

    def issues(self, ids: Iterable[str]) -> list[Issue]:
        """Several issues, whole, in the order asked for.

        Raises:
            BadData: one cannot be read; names it and the file.
            NotFound: there is none of that id.
        """
        wanted = list(ids)
        found = self.read(wanted)
        issues: list[Issue] = []
        for issue_id in wanted:
            issue = found[issue_id]
            if isinstance(issue, BadData):
                raise issue
            issues.append(issue)
        return issues

    def read(self, ids: Iterable[str]) -> dict[str, Issue | BadData]:
        """Several issues, whole; in place of one that is not there or cannot be read, the reason."""
        found: dict[str, Issue | BadData] = {}
        wanted = list(dict.fromkeys(ids))
        for issue_id in wanted:
            if issue_id not in self._trees:
                found[issue_id] = NotFound(f"issue {issue_id} not found")
        present = {issue_id: self._trees[issue_id] for issue_id in wanted if issue_id not in found}
        folders: dict[str, IssueFolder] = {}
        for issue_id, folder in self._folders(present).items():
            if isinstance(folder, BadData):
                found[issue_id] = unreadable(issue_id, folder.message)
            else:
                folders[issue_id] = folder
        for issue_id, issue in read_issues(self.git, folders, self._origins):
            found[issue_id] = unreadable(issue_id, issue.message) if isinstance(issue, BadData) else issue
        return found

    def states(self, ids: Iterable[str]) -> dict[str, State]:
        """The states of those of these issues that exist; an unreadable one counts as new."""
        present = {issue_id: self._trees[issue_id] for issue_id in ids if issue_id in self._trees}
        all_read = "_known" in self.__dict__
        known = self._known if all_read else walk.summarize(self.git, present, self._entries.odd)
        return {issue_id: known[issue_id].state for issue_id in present}

    def __contains__(self, issue_id: str) -> bool:
        return issue_id in self._trees

    def issue_of_comment(self, comment_id: str) -> str | None:
        """The issue that has a comment of that id."""
        name = comment_id.encode("utf-8", "replace")
        folders = self._folders(self._trees)
        having = {
            issue_id: folder.comments
            for issue_id, folder in folders.items()
            if isinstance(folder, IssueFolder) and folder.comments
        }
        contents = walk.fetch(self.git, having.values())
        for issue_id, oid in having.items():
            data = contents[oid]
            if data and name in parse_tree(data, len(oid)):
                return issue_id
        return None

    def resolve(self, prefix: str) -> str:
        """The id that `prefix` means: itself, or the only one that begins so (from 4 characters on).

        Raises:
            NotFound: none.
            BadData: several; lists them.
        """
        if prefix in self._trees:
            return prefix
        matches = [issue_id for issue_id in self._trees if issue_id.startswith(prefix)]
        if not matches or len(prefix) < SHORTEST_PREFIX:
            raise NotFound(f"issue {prefix} not found")
        if len(matches) > 1:
            some = ", ".join(matches[:5]) + (", …" if len(matches) > 5 else "")
            raise BadData(f"issue {prefix} is ambiguous: {some}")
        return matches[0]

    # ---- what was read

    @cached_property
    def _root(self) -> str:
        return self.git.objects.tree_of(self.commit)

    @cached_property
    def _file(self) -> CacheFile:
        """The cache. It is stored once, when the tracker is let go of: one look may ask several times."""
        file = CacheFile(self._cache_path)
        weakref.finalize(self, file.store)
        return file

    @property
    def _cache(self) -> Cache:
        return self._file.cache

    @cached_property
    def _entries(self) -> Entries:
        if self._cache.root == self._root:
            cached = self._cache.issues
            return Entries(
                {issue_id: known.tree for issue_id, known in cached.items()},
                {issue_id: known.unreadable for issue_id, known in cached.items() if known.unreadable},
            )
        return walk.entries(self.git.objects.read(self._root), len(self._root) // 2)

    @property
    def _trees(self) -> dict[str, str]:
        return self._entries.trees

    @cached_property
    def _known(self) -> dict[str, Known]:
        """All issues, in the order of ids: from the cache where their folder has not changed, else read now."""
        if self._cache.root == self._root:
            return self._cache.issues
        before, trees = self._cache.issues, self._trees
        fresh = {key: tree for key, tree in trees.items() if key not in before or before[key].tree != tree}
        with walk.collector_paused():
            read = walk.summarize(self.git, fresh, self._entries.odd)
        known = {key: read[key] if key in fresh else before[key] for key in trees} if before else read
        self._cache.root, self._cache.issues = self._root, known
        self._file.changed = True
        return known

    def _folders(self, trees: Mapping[str, str]) -> dict[str, IssueFolder | BadData]:
        return walk.folders(self.git, trees, self._entries.odd)

    def _origins(self, folders: Iterable[bytes]) -> Mapping[bytes, Origin]:
        return origins(self.git, self.commit, folders)

    def _dated(self, rows: dict[str, Row]) -> dict[str, Row]:
        """The rows, those without a creation_time file with the time from the history."""
        undated = [issue_id for issue_id, row in rows.items() if row.created is None and not row.unreadable]
        found = self._origins(issue_id.encode() for issue_id in undated)
        for issue_id in undated:
            origin = found.get(issue_id.encode())
            rows[issue_id] = (
                msgspec.structs.replace(rows[issue_id], created=origin.time)
                if origin
                else Row(unreadable="creation_time: is missing, and no commit tells it")
            )
        return rows


def unreadable(issue_id: str, why: str) -> BadData:
    """The failure that says of an issue why it cannot be read."""
    return BadData(
        f"issue {issue_id} cannot be read: {why}",
        hint="mend that file on the data branch, or ask who wrote it",
    )
