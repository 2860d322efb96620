"""Issues read whole, or as rows of a list: many at once in a few rounds, each parsed on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ent_agent.tracker import format
from ent_agent.tracker.cache import MISSING, Row
from ent_agent.tracker.fields import Contents, Fields, moment, parse_fields, text
from ent_agent.tracker.format import Instant
from ent_agent.tracker.history import Origin
from ent_agent.tracker.layout import CommentFolder, IssueFolder, comment_folder
from ent_agent.tracker.model import Comment, Issue
from ent_agent.tracker.walk import fetch
from harness.errors import BadData
from harness.git import Git

SLICE = 1000  # issues read at a time: bounds the memory

Origins = Callable[[Iterable[bytes]], Mapping[bytes, Origin]]
"""Looks up authors and times of the folders that have no files for them."""


def read_rows(git: Git, folders: Mapping[str, IssueFolder]) -> Iterator[tuple[str, Row]]:
    """A row for each issue; one that cannot be read says so in its row.

    Comments are counted, and must have what makes a comment; their files are not read.
    """
    for part in _slices(folders):
        drafts = _read_fields(git, part)
        _read_comment_folders(git, drafts)
        for issue_id, draft in drafts.items():
            yield issue_id, Row(unreadable=draft.message) if isinstance(draft, BadData) else _row(draft)


def read_issues(
    git: Git, folders: Mapping[str, IssueFolder], origins: Origins
) -> Iterator[tuple[str, Issue | BadData]]:
    """Each issue with its comments, or why it cannot be read."""
    for part in _slices(folders):
        drafts = _read_fields(git, part)
        contents = fetch(git, _read_comment_folders(git, drafts))
        good = [draft for draft in drafts.values() if isinstance(draft, _Draft)]
        known = origins([folder for draft in good for folder in draft.without_origin()])
        for issue_id, draft in drafts.items():
            yield issue_id, draft if isinstance(draft, BadData) else _finished(draft, contents, known)


class _Draft(NamedTuple):
    """An issue whose comments are still to be read."""

    id: str
    fields: Fields
    comments: dict[bytes, CommentFolder]

    def without_origin(self) -> Iterator[bytes]:
        """The folders that lack an author or a creation_time file."""
        if self.fields.author is None or self.fields.created is None:
            yield self.id.encode()
        for name, folder in self.comments.items():
            if not (folder.author and folder.creation_time):
                yield self.path(name)

    def path(self, comment: bytes) -> bytes:
        return self.id.encode() + b"/comments/" + comment


def _read_fields(git: Git, folders: Mapping[str, IssueFolder]) -> dict[str, _Draft | BadData]:
    contents = fetch(git, (oid for folder in folders.values() for oid in folder if oid))
    drafts: dict[str, _Draft | BadData] = {}
    for issue_id, folder in folders.items():
        try:
            drafts[issue_id] = _Draft(issue_id, parse_fields(folder, contents), {})
        except BadData as error:
            drafts[issue_id] = error
    return drafts


def _read_comment_folders(git: Git, drafts: dict[str, _Draft | BadData]) -> list[bytes]:
    """Find the folders of all comments, and return the ids of the files in them."""
    good = [draft for draft in drafts.values() if isinstance(draft, _Draft)]
    trees = fetch(git, (oid for draft in good for oid in draft.fields.comments.values()))
    files: list[bytes] = []
    for draft in good:
        for name, oid in draft.fields.comments.items():
            data = trees[oid]
            try:
                if data is None:
                    raise BadData(f"the object {oid.hex()} {MISSING}")
                folder = draft.comments[name] = comment_folder(data, len(oid))
                files += [file for file in folder if file]
            except BadData as error:
                where = f"comments/{name.decode('utf-8', 'replace')}"
                drafts[draft.id] = BadData(f"{where}/{error.message}")
    return files


def _row(draft: _Draft) -> Row:
    fields = draft.fields
    return Row(
        title=fields.description.split("\n", 1)[0],
        created=fields.created,
        done=fields.done,
        tags=fields.tags,
        dependencies=fields.dependencies,
        comments=len(fields.comments),
    )


def _finished(draft: _Draft, contents: Contents, known: Mapping[bytes, Origin]) -> Issue | BadData:
    fields = draft.fields
    try:
        author, created = _origin(fields.author, fields.created, known.get(draft.id.encode()))
        comments = [_comment(draft, name, folder, contents, known) for name, folder in draft.comments.items()]
    except BadData as error:
        return error
    return Issue(
        id=draft.id,
        description=fields.description,
        state=fields.state,
        author=author,
        assignee=fields.assignee,
        creation_time=format.exact_time(created),
        done_time=None if fields.done is None else format.exact_time(fields.done),
        tags=fields.tags,
        dependencies=fields.dependencies,
        comments=tuple(comment for _, _, comment in sorted(comments, key=lambda found: found[:2])),
    )


def _comment(
    draft: _Draft,
    name: bytes,
    folder: CommentFolder,
    contents: Contents,
    known: Mapping[bytes, Origin],
) -> tuple[Instant, bytes, Comment]:
    """A comment with what it is sorted by: its time, then its id."""
    comment_id = name.decode("utf-8", "replace")
    try:
        author, created = _origin(
            text("author", folder.author, contents) if folder.author else None,
            moment("creation_time", folder.creation_time, contents),
            known.get(draft.path(name)),
        )
        description = text("description", folder.description, contents)
    except BadData as error:
        raise BadData(f"comments/{comment_id}/{error.message}") from error
    comment = Comment(
        id=comment_id, author=author, creation_time=format.exact_time(created), description=description
    )
    return created, name, comment


def _origin(author: str | None, created: Instant | None, found: Origin | None) -> tuple[str, Instant]:
    """Author and time: each from its file, else from the history."""
    if author is not None and created is not None:
        return author, created
    if found is None:
        raise BadData("author: is missing, and no commit tells it")
    return found.author if author is None else author, created or found.time


def _slices(folders: Mapping[str, IssueFolder]) -> Iterator[dict[str, IssueFolder]]:
    items = list(folders.items())
    return (dict(items[start : start + SLICE]) for start in range(0, len(items), SLICE))
