"""The commands of `ent-agent-ent` that write, or tell a single value: what each does, and says."""

from __future__ import annotations

from collections.abc import Callable

from ent_agent.tracker import format, listing
from ent_agent.tracker.arguments import Asked
from ent_agent.tracker.changes import (
    AddComment,
    AddDependency,
    AddTag,
    Change,
    EditComment,
    NewIssue,
    RemoveTag,
    SetAssignee,
    SetDescription,
    SetDoneTime,
    SetState,
)
from ent_agent.tracker.editor import edited
from ent_agent.tracker.home import Home, author, signs, tidy
from ent_agent.tracker.model import NotFound
from ent_agent.tracker.reader import Tracker
from ent_agent.tracker.terminal import say, warn
from ent_agent.tracker.writer import commit, update
from harness.errors import BadData


def new(home: Home, asked: Asked) -> None:
    home.tracker()
    writer = author(home.git)

    def store(text: str) -> None:
        change = NewIssue(text=text, author=writer)
        _write(home, change)
        say(f"created new issue '{text.split(chr(10), 1)[0]}'\nID: {change.id}\n")

    _with_text(asked.values, store, "no new issue created\n")


def comment(home: Home, asked: Asked) -> None:
    issue_id = home.tracker().resolve(asked.values[0])
    writer = author(home.git)

    def store(text: str) -> None:
        change = AddComment(issue=issue_id, text=text, author=writer)
        _write(home, change)
        say(f"created new comment {change.id} on issue {issue_id}\n")

    _with_text(asked.values[1:], store, "aborted new comment\n")


def edit(home: Home, asked: Asked) -> None:
    tracker = home.tracker()
    issue_id, comment_id = _find_text(tracker, asked.values[0])
    before = _text(tracker, issue_id, comment_id)
    with edited(before) as text:
        if not text:
            say("aborted comment edit\n" if comment_id else "aborted issue edit\n")
        elif text != before:
            change = EditComment(issue_id, comment_id, text) if comment_id else SetDescription(issue_id, text)
            _write(home, change, unless=lambda now: _text(now, issue_id, comment_id) != before)


def state(home: Home, asked: Asked) -> None:
    tracker = home.tracker()
    issue_id = tracker.resolve(asked.values[0])
    if not asked.values[1:]:
        say(f"issue: {issue_id}\nstate: {tracker.issue(issue_id).state}\n")
        return
    wanted = format.state_named(asked.values[1])
    before = tracker.read([issue_id])[issue_id]
    _write(home, SetState(issue_id, wanted))
    say(
        f"issue: {issue_id}\nstate: {'unreadable' if isinstance(before, BadData) else before.state} -> {wanted}\n"
    )


def assign(home: Home, asked: Asked) -> None:
    tracker = home.tracker()
    issue_id = tracker.resolve(asked.values[0])
    before = tracker.read([issue_id])[issue_id]
    if not asked.values[1:]:
        say(f"issue: {issue_id}\nassignee: {_or_none(tracker.issue(issue_id).assignee)}\n")
        return
    _write(home, SetAssignee(issue_id, asked.values[1]))
    old = "unreadable" if isinstance(before, BadData) else _or_none(before.assignee)
    say(f"issue: {issue_id}\nassignee: {old} -> {asked.values[1]}\n")


def tag(home: Home, asked: Asked) -> None:
    if asked.values[1:] == [""]:
        raise BadData("invalid zero-length tag")
    tracker = home.tracker()
    issue_id = tracker.resolve(asked.values[0])
    if not asked.values[1:]:
        say("".join(f"{name}\n" for name in tracker.issue(issue_id).tags) or "no tags\n")
        return
    name = asked.values[1]
    _write(home, RemoveTag(issue_id, name[1:]) if name.startswith("-") else AddTag(issue_id, name))


def done_time(home: Home, asked: Asked) -> None:
    tracker = home.tracker()
    issue_id = tracker.resolve(asked.values[0])
    if not asked.values[1:]:
        done = tracker.issue(issue_id).done_time
        say("None\n" if done is None else f"done_time: {listing.display(done)}\n")
        return
    try:
        time = format.parse_time(asked.values[1])
    except BadData:
        warn(f"failed to parse done-time from {asked.values[1]}")
        raise
    _write(home, SetDoneTime(issue_id, time))


def depend(home: Home, asked: Asked) -> None:
    tracker = home.tracker()
    if not asked.values[1:]:
        dependencies = tracker.issue(tracker.resolve(asked.values[0])).dependencies
        say("DEPENDENCIES:\n" + ("".join(f"{name}\n" for name in dependencies) or "NONE\n"))
        return
    try:
        dependency = tracker.resolve(asked.values[1])
    except NotFound as error:
        raise NotFound(f"dependency {asked.values[1]} not found") from error
    _write(home, AddDependency(tracker.resolve(asked.values[0]), dependency))


def sync(home: Home, asked: Asked) -> None:
    """As entomologist says it, though the merge is ours."""
    if home.run:
        say("nothing to do: what you change is taken over, and synced, when your run ends\n")
        return
    from ent_agent.tracker.sync import synchronize

    home.tracker()
    remote = asked.values[0] if asked.values else "origin"
    synced = synchronize(home.git, home.branch, remote)
    if synced:
        for title, subjects in (
            ("Changes fetched from", synced.fetched),
            ("Changes to push to", synced.pushed),
        ):
            if subjects:
                say(f"{title} remote {remote}:\n" + "".join(f"{subject}\n" for subject in subjects) + "\n")
    say(f"synced {format.quote(home.branch)} with {format.quote(remote)}\n")
    tidy(home)


VERBS: dict[str, Callable[[Home, Asked], None]] = {
    "new": new,
    "edit": edit,
    "state": state,
    "comment": comment,
    "sync": sync,
    "assign": assign,
    "tag": tag,
    "done-time": done_time,
    "depend": depend,
}


def _write(home: Home, change: Change, unless: Callable[[Tracker], bool] | None = None) -> None:
    """Commit one change. `unless`: what must not be true of the tracker that it comes on top of."""
    sign = signs(home.git)

    def build(tip: str | None) -> str:
        if unless and tip and unless(Tracker(home.git, tip)):
            raise BadData("somebody changed the text meanwhile")
        return commit(home.git, tip, [change], sign=sign)

    update(home.git, home.ref, build)
    tidy(home)


def _with_text(values: list[str], store: Callable[[str], None], given_up: str) -> None:
    """Store the text given on the command line, else one from the editor; an empty one is not stored."""
    if values:
        if values[0]:
            store(values[0])
        else:
            say(given_up)
        return
    with edited(None) as text:
        if text:
            store(text)
        else:
            say(given_up)


def _find_text(tracker: Tracker, given: str) -> tuple[str, str]:
    """The issue that an id means, and "" or the comment that it means."""
    if given not in tracker:
        issue_id = tracker.issue_of_comment(given)
        if issue_id:
            return issue_id, given
    try:
        return tracker.resolve(given), ""
    except NotFound as error:
        raise NotFound(f"no issue or comment with uuid {given} found") from error


def _text(tracker: Tracker, issue_id: str, comment_id: str) -> str:
    issue = tracker.issue(issue_id)
    if not comment_id:
        return issue.description
    found = [comment.description for comment in issue.comments if comment.id == comment_id]
    if not found:
        raise NotFound(f"comment {comment_id} not found")
    return found[0]


def _or_none(assignee: str | None) -> str:
    return "None" if assignee is None else assignee
