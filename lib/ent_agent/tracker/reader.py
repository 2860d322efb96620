"""One commit of a tracker, read without a checkout.

The tree is walked through one `git cat-file` process: root, issue folders, and then only
the objects that the question needs. Each entry is parsed on its own: one that cannot be
read is told by its id, with the reason, and hides no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import msgspec
from harness.errors import BadData
from harness.git import Git
from harness.objects import GITLINK, parse_tree

from ent_agent.tracker import cache as cache_
from ent_agent.tracker.cache import Cache, Known, Row
from ent_agent.tracker.fields import parse_assignee, parse_state
from ent_agent.tracker.history import Origin, origins
from ent_agent.tracker.issue_reader import fetch, read_issues, read_rows
from ent_agent.tracker.layout import IssueFolder, issue_folder
from ent_agent.tracker.model import SHORTEST_PREFIX, Issue, NotFound, State, Summary


def open_tracker(git: Git, ref: str, cache: Path | None = None) -> Tracker | None:
    """The tracker at a ref (full name) just now; None when there is no such ref."""
    commit = git.resolve(ref)
    return Tracker(git, commit, cache) if commit else None


class Tracker:
    """One commit of a data branch, read-only. `cache`: a file that keeps what was read."""

    def __init__(self, git: Git, commit: str, cache: Path | None = None) -> None:
        self.git = git
        self.commit = commit
        self._cache_path = cache

    def summaries(self) -> list[Summary]:
        """State and assignee of all issues, in the order of ids; unreadable ones too."""
        return [
            Summary(
                id=issue_id,
                tree=known.tree,
                state=known.state,
                assignee=known.assignee,
                unreadable=known.unreadable,
            )
            for issue_id, known in self._known.items()
        ]

    def rows(self, ids: Iterable[str]) -> dict[str, Row]:
        """What a list shows of these issues; comments are counted, not read."""
        wanted = [issue_id for issue_id in ids if not self._known[issue_id].unreadable]
        unread = {issue_id: self._known[issue_id] for issue_id in wanted if self._known[issue_id].row is None}
        if unread:
            folders = self._folders(unread)
            good = {key: folder for key, folder in folders.items() if not isinstance(folder, BadData)}
            for issue_id, read in read_rows(self.git, good):
                self._known[issue_id].row = read
            self._store()
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
            if issue_id not in self._entries:
                found[issue_id] = NotFound(f"issue {issue_id} not found")
        present = {issue_id: self._entries[issue_id] for issue_id in wanted if issue_id not in found}
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
        present = {issue_id: self._entries[issue_id] for issue_id in ids if issue_id in self._entries}
        self._summarize(present)
        return {issue_id: known.state for issue_id, known in present.items()}

    def __contains__(self, issue_id: str) -> bool:
        return issue_id in self._entries

    def issue_of_comment(self, comment_id: str) -> str | None:
        """The issue that has a comment of that id."""
        name = comment_id.encode("utf-8", "replace")
        folders = self._folders(self._entries)
        having = {
            issue_id: folder.comments
            for issue_id, folder in folders.items()
            if isinstance(folder, IssueFolder) and folder.comments
        }
        contents = fetch(self.git, having.values())
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
        if prefix in self._entries:
            return prefix
        matches = [issue_id for issue_id in self._entries if issue_id.startswith(prefix)]
        if not matches or len(prefix) < SHORTEST_PREFIX:
            raise NotFound(f"issue {prefix} not found")
        if len(matches) > 1:
            some = ", ".join(matches[:5]) + (", …" if len(matches) > 5 else "")
            raise BadData(f"issue {prefix} is ambiguous: {some}")
        return matches[0]

    # ---- the walk

    @cached_property
    def _root(self) -> str:
        return self.git.objects.tree_of(self.commit)

    @cached_property
    def _cache(self) -> Cache:
        return cache_.load(self._cache_path)

    @cached_property
    def _entries(self) -> dict[str, Known]:
        """What stands for an issue, by id: top-level folders, and submodules where one should be."""
        if self._cache.root == self._root:
            return self._cache.issues
        entries: dict[str, Known] = {}
        for name, entry in sorted(self.git.objects.tree(self._root).items()):
            if entry.is_tree or entry.mode == GITLINK:
                issue_id = name.decode("utf-8", "backslashreplace")
                why = "" if issue_id.encode() == name else "the name of its folder is not UTF-8"
                why = why if entry.is_tree else "is a submodule"
                entries[issue_id] = Known(entry.oid, "new", None, why)
        return entries

    @cached_property
    def _known(self) -> dict[str, Known]:
        """All issues: from the cache where their folder has not changed, else read now."""
        if self._cache.root == self._root:
            return self._cache.issues
        before = self._cache.issues
        known = {
            issue_id: before[issue_id]
            if issue_id in before and before[issue_id].tree == entry.tree
            else entry
            for issue_id, entry in self._entries.items()
        }
        fresh = [issue_id for issue_id, entry in known.items() if entry is self._entries[issue_id]]
        self._summarize({issue_id: known[issue_id] for issue_id in fresh})
        self._cache.root, self._cache.issues = self._root, known
        self._store()
        return known

    def _summarize(self, issues: dict[str, Known]) -> None:
        """Fill in state and assignee, or why the issue cannot be read. Few objects: most are alike."""
        folders = self._folders(issues)
        wanted = [
            (folder.state, folder.assignee) for folder in folders.values() if not isinstance(folder, BadData)
        ]
        contents = fetch(self.git, (oid for pair in wanted for oid in pair if oid))
        for issue_id, folder in folders.items():
            known = issues[issue_id]
            try:
                if isinstance(folder, BadData):
                    raise folder
                known.state = parse_state(folder.state, contents)
                known.assignee = parse_assignee(folder.assignee, contents)
            except BadData as error:
                known.unreadable = error.message

    def _folders(self, issues: Mapping[str, Known]) -> dict[str, IssueFolder | BadData]:
        """The folder of each issue, or what is wrong with it."""
        found: dict[str, IssueFolder | BadData] = {}
        trees = [known.tree for known in issues.values() if not known.unreadable]
        contents = iter(self.git.objects.find_many(trees))
        for issue_id, known in issues.items():
            try:
                if known.unreadable:
                    raise BadData(known.unreadable)
                data = next(contents)
                if data is None:
                    raise BadData(f"the object {known.tree} is missing from the repository")
                found[issue_id] = issue_folder(data, len(known.tree) // 2)
            except BadData as error:
                found[issue_id] = error
        return found

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

    def _store(self) -> None:
        if self._cache_path is not None:
            cache_.store(self._cache_path, self._cache)


def unreadable(issue_id: str, why: str) -> BadData:
    """The failure that says of an issue why it cannot be read."""
    return BadData(
        f"issue {issue_id} cannot be read: {why}",
        hint="mend that file on the data branch, or ask who wrote it",
    )
