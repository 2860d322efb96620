"""A small repository tracked with entomologist, made for the demo and for the tests.

It is written by `git fast-import`, so that it depends on none of our own writing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ent_agent.tracker.model import Comment, Issue
from harness.git import Git, Person, init_bare

ALICE = Person("Alice Ångström", "alice@example.org")
ROBO = Person("Robo", "robo@example.org")
CODE = "main"
DATA = "entomologist-data"

FILES: dict[str, bytes | None] = {
    "README.md": b"# Greetings\n\nSays hello. `sh greet.sh NAME` prints a greeting.\n",
    "greet.sh": b'#!/bin/sh\necho "Hello, ${1:-world}"\n',
}


def _issue(number: int, description: str, **more: object) -> Issue:
    fields: dict[str, object] = {
        "id": f"{number:x}" * 32,
        "description": description,
        "author": str(ALICE),
        "creation_time": f"2026-01-{number:02}T09:00:00+00:00",
    }
    return Issue(**(fields | more))  # type: ignore[arg-type]


ISSUES: tuple[Issue, ...] = (
    _issue(1, "Greet in Welsh\n\nAdd the Welsh greeting to greetings.md.\n", state="new", assignee="Robo"),
    _issue(
        2,
        "Say goodbye too\n\nOnce there is a Welsh greeting.",
        state="backlog",
        assignee="robo",
        dependencies=("1" * 32,),
    ),
    _issue(
        3,
        "Which spelling?\n\nReviewer: bob",
        state="blocked",
        assignee="robo@example.org",
        comments=(
            Comment(
                id="c" * 32,
                author=str(ALICE),
                creation_time="2026-01-05T10:00:00+00:00",
                description="British spelling, please.",
            ),
        ),
    ),
    _issue(4, "Greet by name", state="done", assignee="Robo", done_time="2026-01-06T09:00:00+00:00"),
    _issue(5, "Greet in Klingon", state="wontdo", assignee="Robo", tags=("language",)),
    _issue(6, "Print a banner", state="inprogress", assignee="alice", tags=("nice to have",)),
    _issue(7, "Nobody's yet", state="backlog"),
)
"""In all states; 2 waits for 1; 3 was answered by a person; 4 and 5 are finished; 6 and 7 are not Robo's."""

MALFORMED: dict[str, bytes | None] = {
    "8" * 32 + "/description": b"An entry that cannot be read",
    "8" * 32 + "/state": b"in progress",
    "8" * 32 + "/assignee": b"Robo",
}
"""Paths and contents of an entry whose state is no state."""


def make(
    origin: Path, issues: Sequence[Issue] = ISSUES, files: Mapping[str, bytes | None] = MALFORMED
) -> Git:
    """Make a bare repository with a code branch `main` and an entomologist branch.

    `issues` and, path by path, `files` are what the entomologist branch holds.
    """
    init_bare(origin)
    git = Git(origin, person=ALICE)
    git.run("symbolic-ref", "HEAD", f"refs/heads/{CODE}")
    commit_files(git, CODE, FILES, "Say hello")
    readme: dict[str, bytes | None] = {"README.md": b"This branch is used by entomologist to track issues."}
    commit_files(git, DATA, readme, "create entomologist issue branch")
    entries: dict[str, bytes | None] = dict(files)
    for issue in issues:
        entries |= issue_files(issue)
    commit_files(git, DATA, entries, "Bring the issues over")
    return git


def issue_files(issue: Issue) -> dict[str, bytes | None]:
    """Path in the data branch to content, for every file of an issue as `ent` writes it."""
    files: dict[str, bytes | None] = {
        "description": issue.description.encode(),
        "state": issue.state.encode(),
    }
    for name in ("author", "creation_time", "assignee", "done_time"):
        value = getattr(issue, name)
        if value:
            files[name] = value.encode()
    files |= {f"tags/{tag.replace(',', ',0').replace('/', ',1')}": b"" for tag in issue.tags}
    files |= {f"dependencies/{other}": b"" for other in issue.dependencies}
    for comment in issue.comments:
        for name in ("author", "creation_time", "description"):
            files[f"comments/{comment.id}/{name}"] = getattr(comment, name).encode()
    return {f"{issue.id}/{path}": content for path, content in files.items()}


def commit_files(
    git: Git,
    branch: str,
    files: Mapping[str, bytes | None],
    message: str,
    *,
    person: Person = ALICE,
    timestamp: int | None = None,
) -> str:
    """Commit contents (None: delete) on a branch, which is made when it is not there; returns the commit."""
    ref = f"refs/heads/{branch}"
    tip = git.resolve(ref)
    when = f"{int(time.time()) if timestamp is None else timestamp} +0000"
    script = [
        f"commit {ref}",
        f"author {person} {when}",
        f"committer {person} {when}",
        f"data {len(message.encode())}",
        message,
        *([f"from {tip}"] if tip else []),
    ]
    stream = "\n".join(script).encode() + b"\n"
    for path, content in files.items():
        name = _quoted(path)
        if content is None:
            stream += b"D " + name + b"\n"
        else:
            stream += b"M 100644 inline " + name + b"\ndata %d\n" % len(content) + content + b"\n"
    git.run("fast-import", "--quiet", stdin=stream)
    commit = git.resolve(ref)
    assert commit
    return commit


def _quoted(path: str) -> bytes:
    """A path as fast-import takes it: in quotes, with what is not plain as octal."""
    plain = bytes(range(0x20, 0x7F)).translate(None, b'"\\')
    return b'"' + b"".join(bytes((c,)) if c in plain else b"\\%03o" % c for c in os.fsencode(path)) + b'"'
