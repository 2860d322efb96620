"""Author and time of what has no author or creation_time file: those of the oldest commit that touched it.

Entomologist asks `git log -- <folder>` once per item and takes the last line. Here one
`git log` (and one `git diff-tree` for the merges) answers for all, and git's default
simplification of the history (at a merge follow the first parent that has the same
content) is done again for each path.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ent_agent.tracker.format import Instant
from harness.git import Git

_LOG = (
    "log",
    "--root",
    "--no-diff-merges",
    "--raw",
    "-z",
    "--no-renames",
    "--no-relative",
    "--ignore-submodules=none",
    "--no-show-signature",
    "--no-notes",
    "--no-color",
    "--no-mailmap",
    "--encoding=UTF-8",
    "--format=%x01%H%x02%P%x02%ct%x02%at%x02%an <%ae>",
)


class Origin(NamedTuple):
    """Who first wrote something (`Name <email>`), and when."""

    author: str
    time: Instant


class _Commit(NamedTuple):
    parents: tuple[str, ...]
    committed: int
    origin: Origin
    changed: tuple[frozenset[bytes], ...]
    """Per parent, the wanted folders that differ from it; of a root commit, those that it has."""


def origins(git: Git, commit: str, folders: Iterable[bytes]) -> dict[bytes, Origin]:
    """The origin of each folder (path from the root) in the history of `commit`; absent when none is found."""
    wanted = frozenset(folders)
    if not wanted:
        return {}
    commits = _read(git, commit, wanted)
    found = {folder: _oldest(commits, commit, folder) for folder in wanted}
    return {folder: origin for folder, origin in found.items() if origin}


def _oldest(commits: dict[str, _Commit], tip: str, folder: bytes) -> Origin | None:
    """The last commit that `git log -- folder` would list: newest first, sides of a merge by date."""
    heap: list[tuple[int, int, str]] = []
    seen: set[str] = set()
    last: Origin | None = None

    def add(oid: str) -> None:
        if oid in commits and oid not in seen:
            heapq.heappush(heap, (-commits[oid].committed, len(seen), oid))
            seen.add(oid)

    add(tip)
    while heap:
        commit = commits[heapq.heappop(heap)[2]]
        same = [number for number, changed in enumerate(commit.changed) if folder not in changed]
        if same and commit.parents:
            add(commit.parents[same[0]])
            continue
        if not same:
            last = commit.origin
        for parent in commit.parents:
            add(parent)
    return last


def _read(git: Git, commit: str, wanted: frozenset[bytes]) -> dict[str, _Commit]:
    """All commits of the history.

    Not limited to the folders: git then leaves out parents, and which one is followed at a
    merge depends on those too.
    """
    commits: dict[str, _Commit] = {}
    for header, touched in _records(git.run(*_LOG, commit, "--").stdout):
        oid, parents, committed, authored, author = header.split("\2", 4)
        changed = (_folders(touched) & wanted,)
        commits[oid] = _Commit(
            tuple(parents.split()), int(committed), Origin(author, Instant(int(authored))), changed
        )
    merges = [
        (oid, parent) for oid, found in commits.items() if found.parents[1:] for parent in found.parents
    ]
    for oid, per_parent in _merge_changes(git, merges, wanted).items():
        commits[oid] = commits[oid]._replace(changed=per_parent)
    return commits


def _merge_changes(
    git: Git, merges: list[tuple[str, str]], wanted: frozenset[bytes]
) -> dict[str, tuple[frozenset[bytes], ...]]:
    """Per merge, and per parent in order, the wanted folders that differ."""
    if not merges:
        return {}
    script = "".join(f"{oid} {parent}\n" for oid, parent in merges)
    shown = git.run(
        *("diff-tree", "--stdin", "--always", "-r", "--raw", "-z", "--no-renames", "--format=%x01%H"),
        stdin=script.encode(),
    ).stdout
    found: dict[str, tuple[frozenset[bytes], ...]] = {}
    for (oid, _), (_, touched) in zip(merges, _records(shown), strict=True):
        found[oid] = (*found.get(oid, ()), _folders(touched) & wanted)
    return found


def _records(output: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """The header line of each commit, and the paths that it touched."""
    for record in output.split(b"\1")[1:]:
        header, _, diff = record.partition(b"\0")
        yield header.decode("utf-8", "replace").rstrip("\n"), re.findall(rb":[^\0]*\0([^\0]*)\0", diff)


def _folders(paths: list[bytes]) -> frozenset[bytes]:
    """The issue and comment folders that the paths lie in."""
    found: set[bytes] = set()
    for path in paths:
        parts = path.split(b"/")
        if len(parts) > 1:
            found.add(parts[0])
        if len(parts) > 3 and parts[1] == b"comments":
            found.add(b"/".join(parts[:3]))
    return frozenset(found)
