"""One commit of a tracker, read without a checkout.

The tree is walked through one `git cat-file` process: root, issue folders, and then only
the objects that the question needs. Each entry is parsed on its own: one that cannot be
read is told by its id, with the reason, and hides no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path

import msgspec
from harness.errors import BadData
from harness.git import Git
from harness.objects import parse_tree, split_tree

from ent_agent.tracker import cache as cache_
from ent_agent.tracker.cache import MISSING, Cache, Known, Row
from ent_agent.tracker.fields import Contents, parse_assignee, parse_state
from ent_agent.tracker.history import Origin, origins
from ent_agent.tracker.issue_reader import fetch, read_issues, read_rows
from ent_agent.tracker.layout import IssueFolder, issue_folder, state_and_assignee
from ent_agent.tracker.model import SHORTEST_PREFIX, Issue, NotFound, State, Summary


def open_tracker(git: Git, ref: str, cache: Path | None = None) -> Tracker | None:
    """The tracker at a ref (full name) just now; None when there is no such ref."""
    commit = git.objects.resolve(ref)
    return Tracker(git, commit, cache) if commit else None


class Tracker:
    """One commit of a data branch, read-only. `cache`: a file that keeps what was read."""

    def __init__(self, git: Git, commit: str, cache: Path | None = None) -> None:
        self.git = git
        self.commit = commit
        self._cache_path = cache
        self._odd: dict[str, str] = {}
        self._changed = False

    def summaries(self) -> list[Summary]:
        """State and assignee of all issues, in the order of ids; unreadable ones too."""
        summaries = self._summaries()
        self._store()
        return summaries

    def select(self, takes: Callable[[Summary], bool]) -> tuple[list[Summary], dict[str, Row]]:
        """All summaries, and what a list shows of those readable ones that `takes` says yes to."""
        summaries = self._summaries()
        taken = [summary.id for summary in summaries if not summary.unreadable and takes(summary)]
        return summaries, self.rows(taken)

    def _summaries(self) -> list[Summary]:
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
        unread = {issue_id: self._trees[issue_id] for issue_id in wanted if not self._known[issue_id].row}
        if unread:
            folders = self._folders(unread)
            good = {key: folder for key, folder in folders.items() if not isinstance(folder, BadData)}
            for issue_id, read in read_rows(self.git, good):
                self._known[issue_id].row = read
            self._changed = True
        rows = {issue_id: row for issue_id in wanted if (row := self._known[issue_id].row)}
        self._store()
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
        return {issue_id: known.state for issue_id, known in self._summarize(present).items()}

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
        if prefix in self._trees:
            return prefix
        matches = [issue_id for issue_id in self._trees if issue_id.startswith(prefix)]
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
    def _trees(self) -> dict[str, str]:
        """The folder of each issue, by id; `_odd` has what is there in place of one."""
        if self._cache.root == self._root:
            cached = self._cache.issues
            self._odd = {issue_id: known.unreadable for issue_id, known in cached.items() if known.unreadable}
            return {issue_id: known.tree for issue_id, known in cached.items()}
        trees: dict[str, str] = {}
        for mode, name, oid in split_tree(self.git.objects.read(self._root), len(self._root) // 2):
            if mode == b"40000" or mode == b"160000":
                trees[name.decode("utf-8", "backslashreplace")] = oid.hex()
                if mode != b"40000":
                    self._odd[name.decode("utf-8", "backslashreplace")] = "is a submodule"
                elif not _is_utf8(name):
                    self._odd[name.decode("utf-8", "backslashreplace")] = (
                        "the name of its folder is not UTF-8"
                    )
        return trees

    @cached_property
    def _known(self) -> dict[str, Known]:
        """All issues, in the order of ids: from the cache where their folder has not changed, else read now."""
        if self._cache.root == self._root:
            return self._cache.issues
        before = self._cache.issues
        fresh = {
            issue_id: tree
            for issue_id, tree in self._trees.items()
            if issue_id not in before or before[issue_id].tree != tree
        }
        read = self._summarize(fresh)
        known = {
            issue_id: read[issue_id] if issue_id in fresh else before[issue_id]
            for issue_id in sorted(self._trees)
        }
        self._cache.root, self._cache.issues = self._root, known
        self._changed = True
        return known

    def _summarize(self, trees: Mapping[str, str]) -> dict[str, Known]:
        """State and assignee of issues, or why one cannot be read. Few objects: most are alike."""
        files: dict[str, tuple[bytes | None, bytes | None]] = {}
        known: dict[str, Known] = {}
        for issue_id, data in self._contents(trees):
            try:
                files[issue_id] = state_and_assignee(self._sound(issue_id, data), len(self._root) // 2)
            except BadData as error:
                known[issue_id] = Known(trees[issue_id], "new", None, error.message)
        contents = fetch(self.git, (oid for pair in files.values() for oid in pair if oid))
        parsed = {pair: _parse(pair, contents) for pair in set(files.values())}
        for issue_id, pair in files.items():
            known[issue_id] = Known(trees[issue_id], *parsed[pair])
        return known

    def _folders(self, trees: Mapping[str, str]) -> dict[str, IssueFolder | BadData]:
        """The folder of each issue, or what is wrong with it."""
        found: dict[str, IssueFolder | BadData] = {}
        for issue_id, data in self._contents(trees):
            try:
                found[issue_id] = issue_folder(self._sound(issue_id, data), len(self._root) // 2)
            except BadData as error:
                found[issue_id] = error
        return found

    def _contents(self, trees: Mapping[str, str]) -> Iterable[tuple[str, bytes | None]]:
        return zip(trees, self.git.objects.find_many(list(trees.values())), strict=True)

    def _sound(self, issue_id: str, data: bytes | None) -> bytes:
        """`data`, when it is the tree of an issue that can be read."""
        if issue_id in self._odd:
            raise BadData(self._odd[issue_id])
        if data is None:
            raise BadData(f"the object {self._trees[issue_id]} {MISSING}")
        return data

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
        """Keep what was read, when there is more of it than before."""
        if self._changed and self._cache_path is not None:
            cache_.store(self._cache_path, self._cache)
        self._changed = False


def _parse(files: tuple[bytes | None, bytes | None], contents: Contents) -> tuple[State, str | None, str]:
    """State and assignee, and why they cannot be read."""
    try:
        return parse_state(files[0], contents), parse_assignee(files[1], contents), ""
    except BadData as error:
        return "new", None, error.message


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def unreadable(issue_id: str, why: str) -> BadData:
    """The failure that says of an issue why it cannot be read."""
    return BadData(
        f"issue {issue_id} cannot be read: {why}",
        hint="mend that file on the data branch, or ask who wrote it",
    )
