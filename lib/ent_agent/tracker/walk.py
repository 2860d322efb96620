"""From the root tree to the folders of the issues, and the little that selection asks of each.

Ten thousand issues are usual: what is done for each here is a few microseconds, and git
reads the next ones meanwhile.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ent_agent.tracker.cache import MISSING, Known
from ent_agent.tracker.fields import Contents, parse_assignee, parse_state
from ent_agent.tracker.layout import IssueFolder, issue_folder, usual_issue
from ent_agent.tracker.model import State
from harness.errors import BadData
from harness.git import Git
from harness.objects import split_tree

Files = tuple[bytes | None, bytes | None]
"""The object ids of an issue's state and assignee."""


class Entries(NamedTuple):
    """What stands for an issue at the top, by id: the id of its folder's tree; and what is odd about it."""

    trees: dict[str, str]
    odd: dict[str, str]
    """Why an entry is no issue's folder."""


def entries(root: bytes, width: int) -> Entries:
    """The issues in a root tree, in the order of ids; files and links at the top are passed over."""
    trees: dict[str, str] = {}
    odd: dict[str, str] = {}
    for mode, name, oid in split_tree(root, width):
        if mode == b"40000":
            trees[issue_id := name.decode("utf-8", "backslashreplace")] = oid.hex()
            if "\\" in issue_id and issue_id.encode() != name:
                odd[issue_id] = "the name of its folder is not UTF-8"
        elif mode == b"160000":
            trees[issue_id := name.decode("utf-8", "backslashreplace")] = oid.hex()
            odd[issue_id] = "is a submodule"
    return Entries(dict(sorted(trees.items())), odd)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Python's garbage collector goes through all there is again and again while thousands are made: a tenth of the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def summarize(git: Git, trees: Mapping[str, str], odd: Mapping[str, str]) -> dict[str, Known]:
    """State and assignee of issues, or why one cannot be read. Few files are read: most are alike."""
    files: dict[str, Files | BadData] = {}
    usual = None
    for issue_id, data in _contents(git, trees):
        usual = usual or usual_issue(len(trees[issue_id]) // 2)
        match = usual.fullmatch(data) if data else None
        if match:
            files[issue_id] = match["state"], match["assignee"]
            continue
        try:
            folder = _folder(issue_id, trees, odd, data)
            files[issue_id] = folder.state, folder.assignee
        except BadData as error:
            files[issue_id] = error
    files |= {issue_id: BadData(odd[issue_id]) for issue_id in odd.keys() & files.keys()}
    different = {pair for pair in files.values() if not isinstance(pair, BadData)}
    contents = fetch(git, (oid for pair in different for oid in pair if oid))
    values = {pair: _values(pair, contents) for pair in different}
    return {
        issue_id: Known(trees[issue_id], "new", None, pair.message)
        if isinstance(pair, BadData)
        else Known(trees[issue_id], *values[pair])
        for issue_id, pair in files.items()
    }


def folders(git: Git, trees: Mapping[str, str], odd: Mapping[str, str]) -> dict[str, IssueFolder | BadData]:
    """The folder of each issue, or what is wrong with it."""
    found: dict[str, IssueFolder | BadData] = {}
    for issue_id, data in _contents(git, trees):
        try:
            found[issue_id] = _folder(issue_id, trees, odd, data)
        except BadData as error:
            found[issue_id] = error
    return found


def fetch(git: Git, oids: Iterable[bytes]) -> Contents:
    """The contents of objects, each asked for once."""
    wanted = list(dict.fromkeys(oids))
    return dict(zip(wanted, git.objects.find_many([oid.hex() for oid in wanted]), strict=True))


def _contents(git: Git, trees: Mapping[str, str]) -> Iterator[tuple[str, bytes | None]]:
    return zip(trees, git.objects.find_many(list(trees.values())), strict=True)


def _folder(
    issue_id: str, trees: Mapping[str, str], odd: Mapping[str, str], data: bytes | None
) -> IssueFolder:
    if issue_id in odd:
        raise BadData(odd[issue_id])
    if data is None:
        raise BadData(f"the object {trees[issue_id]} {MISSING}")
    return issue_folder(data, len(trees[issue_id]) // 2)


def _values(files: Files, contents: Contents) -> tuple[State, str | None, str]:
    """State and assignee, and why they cannot be read."""
    try:
        return parse_state(files[0], contents), parse_assignee(files[1], contents), ""
    except BadData as error:
        return "new", None, error.message
