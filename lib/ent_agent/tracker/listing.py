"""Issues as text, in entomologist's layout, to the byte; and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ent_agent.tracker import format
from ent_agent.tracker.cache import Row
from ent_agent.tracker.filters import Filter
from ent_agent.tracker.model import Comment, Issue, State, Summary
from ent_agent.tracker.reader import Tracker

TITLES: dict[State, str] = {
    "inprogress": "InProgress",
    "blocked": "Blocked",
    "backlog": "Backlog",
    "new": "New",
    "done": "Done",
    "wontdo": "WontDo",
}
CLOSED: tuple[State, ...] = ("done", "wontdo")

SPEECH, HOURGLASS, POINTING = "\U0001f5e8\ufe0f", "\u231b", "\U0001f449"
CHECK, CROSS, SKULL = "\u2705", "\u274c", "\u2620\ufe0f "


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `list --json`. Times are RFC 3339; `comments` and `open_dependencies` are counts."""

    id: str
    title: str
    state: State
    assignee: str | None
    creation_time: str
    done_time: str | None
    tags: tuple[str, ...]
    dependencies: tuple[str, ...]
    open_dependencies: int
    comments: int


class Found(msgspec.Struct, frozen=True):
    """What a filter took, by state in order of creation, and what could not be read (id and reason)."""

    groups: dict[State, list[tuple[Summary, Row]]]
    unreadable: dict[str, str]
    states: Mapping[str, State]
    """Of the issues that those depend on."""


def find(tracker: Tracker, wanted: Filter) -> Found:
    """The issues of a tracker that a filter takes."""
    selected = tracker.select(wanted.takes)
    taken = [(summary, row) for summary, row in selected.rows.values() if wanted.takes_row(row)]
    groups: dict[State, list[tuple[Summary, Row]]] = {state: [] for state in TITLES}
    for summary, row in sorted(taken, key=lambda item: (item[1].created, item[0].id.encode())):
        groups[summary.state].append((summary, row))
    states = tracker.states({dependency for _, row in taken for dependency in row.dependencies})
    return Found(groups, selected.unreadable, states)


def list_text(found: Found) -> str:
    """Groups by state, each with a header and an empty line after it."""
    return "".join(
        f"{TITLES[state]}:\n{''.join(_line(summary, row, found.states) for summary, row in group)}\n"
        for state, group in found.groups.items()
        if group
    )


def list_json(found: Found) -> str:
    """One object a line, in the same order."""
    return "".join(msgspec.json.encode(listed).decode() + "\n" for listed in _listed(found))


def _listed(found: Found) -> Iterator[Listed]:
    for group in found.groups.values():
        for summary, row in group:
            assert row.created
            yield Listed(
                id=summary.id,
                title=row.title,
                state=summary.state,
                assignee=summary.assignee,
                creation_time=format.exact_time(row.created),
                done_time=format.exact_time(row.done) if row.done else None,
                tags=row.tags,
                dependencies=row.dependencies,
                open_dependencies=_open(row.dependencies, found.states),
                comments=row.comments,
            )


def show_text(issue: Issue, states: Mapping[str, State]) -> str:
    """An issue with its comments. `states`: of those issues that it depends on and that exist."""
    lines = [f"issue {issue.id}", f"author: {issue.author}"]
    if issue.tags:
        lines.append(f"tags: {', '.join(issue.tags)}")
    lines.append(f"creation_time: {display(issue.creation_time)}")
    if issue.done_time is not None:
        lines.append(f"done_time: {display(issue.done_time)}")
    lines.append(f"state: {TITLES[issue.state]}")
    if issue.dependencies:
        lines.append(f"dependencies: {', '.join(_dependencies(issue.dependencies, states))}")
    if issue.assignee is not None:
        lines.append(f"assignee: {issue.assignee}")
    lines += ["", issue.description]
    for comment in issue.comments:
        lines += _comment(comment)
    return "\n".join(lines) + "\n"


def display(written: str) -> str:
    """A time of an `Issue` for people."""
    return format.display_time(format.parse_time(written)) if written[:1].isdigit() else written


def _line(summary: Summary, row: Row, states: Mapping[str, State]) -> str:
    comments = f"{SPEECH} {row.comments}" if row.comments else "   "
    waiting = _open(row.dependencies, states)
    dependencies = f"{HOURGLASS}{waiting}" if waiting else "   "
    assignee = "" if summary.assignee is None else f" ({POINTING} {summary.assignee})"
    tags = f" [{', '.join(row.tags)}]" if row.tags else ""
    return f"{summary.id}  {comments} {dependencies}  {row.title}{assignee}{tags}\n"


def _open(dependencies: Iterable[str], states: Mapping[str, State]) -> int:
    """How many exist and are neither done nor wontdo."""
    return sum(states.get(dependency, "done") not in CLOSED for dependency in dependencies)


def _dependencies(dependencies: Iterable[str], states: Mapping[str, State]) -> Iterator[str]:
    marks = {"done": CHECK, "wontdo": CROSS}
    for dependency in dependencies:
        state = states.get(dependency)
        yield f"{SKULL if state is None else marks.get(state, HOURGLASS)} {dependency}"


def _comment(comment: Comment) -> list[str]:
    return [
        "",
        f"comment: {comment.id}",
        f"author: {comment.author}",
        f"creation_time: {display(comment.creation_time)}",
        "",
        comment.description,
    ]
