"""What a session is told about an event: its inputs."""

from __future__ import annotations

from collections.abc import Iterable

from fordjent.deciding.actions import Input, InputKind
from fordjent.deciding.event import Event, Review, Verdict
from fordjent.deciding.facts import Facts, Inline

_VERDICTS: dict[Verdict, str] = {
    "approved": "approved",
    "rejected": "changes requested",
    "comment": "comments",
}


def opened(event: Event) -> Input:
    """Of an issue: there is one of it for ever."""
    return _input(event, "opened", "opened", f"{event.title}\n\n{event.body}".strip())


def comment(event: Event) -> Input:
    assert event.comment
    return _input(event, "comment", f"comment:{event.comment.id}", event.comment.body)


def labels_set(event: Event, names: Iterable[str]) -> Input:
    """Set again later it is another input: the time tells them apart."""
    shown = ", ".join(names)
    return _input(event, "label", f"label:{shown}:{event.at:.0f}", f"Label set: {shown}")


def unblocked(event: Event) -> Input:
    """A person took off what held it."""
    return _input(event, "label", f"label:-blocked:{event.at:.0f}", "Label taken off: blocked")


def new_head(event: Event) -> Input:
    """One input per commit that a pull request's branch comes to, its first one too."""
    assert event.pull
    what = f"Pull request to {event.pull.base}, branch {event.pull.head} at {event.pull.head_commit}."
    text = f"{what}\n\n{event.title}\n\n{event.body}".strip()
    return _input(event, "head", f"head:{event.pull.head_commit}", text)


def review(event: Event, facts: Facts) -> Input:
    """With every inline comment; by the forge's id, or by author and time where the forge does not have it."""
    assert event.review
    known = facts.review
    source = f"review:{known.id}" if known else f"review:{event.sender}:{event.at:.0f}"
    return _input(event, "review", source, review_text(event.review, known.inline if known else ()))


def review_text(said: Review, inline: Iterable[Inline]) -> str:
    parts = [f"Review: {_VERDICTS[said.verdict]}.", said.body]
    for remark in inline:
        where = f"{remark.path}, line {remark.line}" if remark.line else remark.path
        parts.append(f"{where}:\n{_indented(remark.hunk)}{remark.text}")
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _indented(hunk: str) -> str:
    return "".join(f"    {line}\n" for line in hunk.splitlines())


def _input(event: Event, kind: InputKind, source: str, text: str) -> Input:
    return Input(kind=kind, source=source, author=event.sender, text=text, at=event.at)
