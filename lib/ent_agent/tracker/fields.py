"""The values in an issue's own files, out of objects that were read."""

from __future__ import annotations

from typing import NamedTuple

from ent_agent.tracker import format
from ent_agent.tracker.cache import MISSING
from ent_agent.tracker.format import Instant
from ent_agent.tracker.layout import IssueFolder, kind_of
from ent_agent.tracker.model import State
from harness.errors import BadData
from harness.objects import Tree, parse_tree

Contents = dict[bytes, bytes | None]
"""Object id (bytes) to content; None: the repository has no such object."""


class Fields(NamedTuple):
    """The values of an issue's own files. `author`, `created` None: no such file."""

    description: str
    state: State
    assignee: str | None
    author: str | None
    created: Instant | None
    done: Instant | None
    tags: tuple[str, ...]
    dependencies: tuple[str, ...]
    comments: dict[bytes, bytes]
    """Name to object id of each comment's folder."""


def parse_fields(folder: IssueFolder, contents: Contents) -> Fields:
    """All of them.

    Raises:
        BadData: names the file and what is wrong with it.
    """
    return Fields(
        description=text("description", folder.description, contents),
        state=parse_state(folder.state, contents),
        assignee=parse_assignee(folder.assignee, contents),
        author=text("author", folder.author, contents) if folder.author else None,
        created=moment("creation_time", folder.creation_time, contents),
        done=moment("done_time", folder.done_time, contents),
        tags=_tags(folder.tags, contents),
        dependencies=_dependencies(folder.dependencies, contents),
        comments=_comments(folder.comments, contents),
    )


def parse_state(oid: bytes | None, contents: Contents) -> State:
    if oid is None:
        return "new"
    try:
        return format.parse_state(_data("state", oid, contents))
    except BadData as error:
        raise BadData(f"state: {error.message}") from error


def parse_assignee(oid: bytes | None, contents: Contents) -> str | None:
    return format.trim(text("assignee", oid, contents)) if oid else None


def text(name: str, oid: bytes, contents: Contents) -> str:
    data = _data(name, oid, contents)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadData(f"{name}: not UTF-8 (byte {error.start})") from error


def moment(name: str, oid: bytes | None, contents: Contents) -> Instant | None:
    if oid is None:
        return None
    try:
        return format.parse_time(format.trim(text(name, oid, contents)))
    except BadData as error:
        raise BadData(f"{name}: {error.message}" if ":" not in error.message else error.message) from error


def _data(name: str, oid: bytes, contents: Contents) -> bytes:
    data = contents[oid]
    if data is None:
        raise BadData(f"{name}: the object {oid.hex()} {MISSING}")
    return data


def _tree(name: str, oid: bytes | None, contents: Contents) -> Tree:
    return parse_tree(_data(name, oid, contents), len(oid)) if oid else {}


def _tags(oid: bytes | None, contents: Contents) -> tuple[str, ...]:
    if oid is None:
        return ()
    names = (name.decode("utf-8", "replace") for name in _tree("tags", oid, contents))
    try:
        return tuple(sorted((format.unescape_tag(name) for name in names), key=str.encode))
    except BadData as error:
        raise BadData(f"tags: {error.message}") from error


def _dependencies(oid: bytes | None, contents: Contents) -> tuple[str, ...]:
    try:
        return tuple(name.decode("utf-8") for name in sorted(_tree("dependencies", oid, contents)))
    except UnicodeDecodeError as error:
        raise BadData("dependencies: an id is not UTF-8") from error


def _comments(oid: bytes | None, contents: Contents) -> dict[bytes, bytes]:
    entries = _tree("comments", oid, contents)
    for name, entry in entries.items():
        if not entry.is_tree:
            raise BadData(f"comments/{name.decode('utf-8', 'replace')}: is {kind_of(entry)}")
    return {name: bytes.fromhex(entry.oid) for name, entry in entries.items()}
