"""Who gets an issue: the reviewer of finished work, the handler of what the agent cannot do.

The person that the agent chose comes first (the hand-back knows that one); then a line
`Reviewer: NAME` or `Handler: NAME` in the description, the author, who last assigned or
commented, and config.toml. Never the agent itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ent_agent.config import Config, slug
from ent_agent.tracker.model import Issue
from harness.git import Git

Role = Literal["reviewer", "handler"]

LONGEST_NAME = 200
REMEMBERED_COMMITS = 5000

_NAMED = {
    role: re.compile(
        rf"^[ \t>*_-]*{role}[*_]*[ \t]*:[*_]*[ \t]*(\S.*?)[ \t*_]*$", re.IGNORECASE | re.MULTILINE
    )
    for role in ("reviewer", "handler")
}
_PERSON = re.compile(r"\s*(.*?)\s*<([^<>]*)>\s*")
_ASSIGNED = re.compile(r"change assignee of issue (.+?), (.*) -> (.*)", re.DOTALL)


class Assignment(NamedTuple):
    """One change of an assignee, as its commit says: who (`Name <email>`) gave which issue to whom."""

    issue: str
    by: str
    to: str


def assignments(git: Git, commit: str) -> list[Assignment]:
    """The changes of assignees in a tracker's history, newest first; a long one is not read to its end."""
    lines = git.run(
        "log",
        "-z",
        "--format=%an <%ae>%n%s",
        "--fixed-strings",
        "--grep=change assignee of issue ",
        f"--max-count={REMEMBERED_COMMITS}",
        "--no-show-signature",
        "--no-mailmap",
        commit,
    ).text.split("\0")
    found = []
    for line in lines:
        by, _, subject = line.partition("\n")
        match = _ASSIGNED.fullmatch(subject)
        if match:
            found.append(Assignment(match[1], by, match[3]))
    return found


def reviewer_and_handler(
    issue: Issue, config: Config, history: Sequence[Assignment] = ()
) -> tuple[str | None, str | None]:
    """Who gets finished work, and who what cannot be done; None: nobody is left."""
    return (
        _first(_candidates("reviewer", issue, config, history), config, history),
        _first(_candidates("handler", issue, config, history), config, history),
    )


def chosen(assignee: str | None, config: Config, history: Sequence[Assignment]) -> str | None:
    """The person that the agent gave the issue to; None when that is nobody, or itself."""
    return _first([assignee or ""], config, history)


def spelt(person: str, history: Sequence[Assignment]) -> str:
    """A person's name as it was last used as an assignee in this tracker; else as given."""
    names = _names(person)
    return next((past.to for past in history if past.to and _names(past.to) & names), person)


def _candidates(role: Role, issue: Issue, config: Config, history: Sequence[Assignment]) -> Iterator[str]:
    yield from (_plain(name) for name in _NAMED[role].findall(issue.description.replace("\r", "")))
    yield issue.author
    last = [past.by for past in history if past.issue == issue.id and not _is_agent(past.by, config)]
    yield from last[:1]
    yield from (comment.author for comment in reversed(issue.comments))
    yield from (config.reviewer, config.handler) if role == "reviewer" else (config.handler, config.reviewer)


def _first(
    candidates: Iterator[str] | list[str], config: Config, history: Sequence[Assignment]
) -> str | None:
    for name in candidates:
        if name.strip() and not _is_agent(name, config):
            spelling = spelt(name.strip(), history)
            return spelling if not _is_agent(spelling, config) else name.strip()
    return None


def _is_agent(person: str, config: Config) -> bool:
    name, email = _parts(person)
    return any(config.is_agent(text) for text in (person.strip(), name, email))


def _names(person: str) -> set[str]:
    """What a person may be called: name, email, the email's first part, the name as a slug."""
    name, email = _parts(person)
    words = {name, email, email.split("@")[0], slug(name)}
    return {word.casefold() for word in words if word}


def _parts(person: str) -> tuple[str, str]:
    """Name and email of `Name <email>`, of a bare email, or of a bare name."""
    match = _PERSON.fullmatch(person)
    if match:
        return match[1], match[2]
    person = person.strip()
    return ("", person) if "@" in person else (person, "")


def _plain(name: str) -> str:
    """A name out of a text: one line, no control characters, not over-long; `@alice` is alice."""
    clean = "".join(c for c in name if not unicodedata.category(c).startswith("C")).strip()
    return clean.removeprefix("@").strip("`")[:LONGEST_NAME]
