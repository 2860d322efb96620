"""What can come of an event. The action's name stands in `action` where it is written as JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

InputKind = Literal["opened", "comment", "review", "label", "head", "retry", "checks", "resumed", "parts"]


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a session is told.

    `source` names where it stands ("comment:17"): one of it is one input, however often it is
    delivered. `text` is for the model, as labelled data. `at`: seconds since 1970; 0: now.
    """

    kind: InputKind
    source: str
    author: str = ""
    text: str = ""
    at: float = 0.0


class _Action(msgspec.Struct, frozen=True, tag_field="action"):
    pass


class Feed(_Action, frozen=True, kw_only=True, tag="feed"):
    """Give a session an input, and let it run. `key`: owner/repo/issues/42.

    `branch`, `base`, `pull`: of the pull request that a `pulls` session is about; else empty.
    `not_before`: the breaker holds it until then, in seconds since 1970; 0: it does not.
    """

    key: str
    role: str
    input: Input
    by_person: bool = True
    branch: str = ""
    base: str = ""
    pull: int = 0
    not_before: float = 0.0


class Hold(_Action, frozen=True, kw_only=True, tag="hold"):
    """Keep what a session would begin with until the scheduler lets it go. `waits_for`: as far as it was seen."""

    key: str
    role: str
    input: Input
    by_person: bool = True
    waits_for: tuple[int, ...] = ()


class Lay(_Action, frozen=True, kw_only=True, tag="lay"):
    """The issue is the one that makes the first commit of an empty repository, unless there is another."""

    repository: str
    number: int


class Cancel(_Action, frozen=True, kw_only=True, tag="cancel"):
    """Stop the run of a session, and start none for what waits."""

    key: str
    reason: str


class Close(_Action, frozen=True, kw_only=True, tag="close"):
    """Issue or pull request is over: what waits for its session starts no run. A run that goes on ends by itself."""

    key: str


class Guide(_Action, frozen=True, kw_only=True, tag="guide"):
    """Say once on an issue that it needs a role, and label it so."""

    key: str


class Remember(_Action, frozen=True, kw_only=True, tag="remember"):
    """What is known of an issue or pull request from here on. `state`: open, closed or merged.

    `head_commit`: of an event that tells of a pull request's head; else "": it stays as it was.
    """

    repository: str
    number: int
    is_pull: bool
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    state: str
    title: str
    author: str
    parent: int = 0
    head: str = ""
    head_commit: str = ""


class Reschedule(_Action, frozen=True, kw_only=True, tag="reschedule"):
    """Something that others depend on may be done: the scheduler looks at the repository."""

    repository: str


class RetryMerges(_Action, frozen=True, kw_only=True, tag="retry_merges"):
    """A pull request is out of the way: those that wait for it are tried again."""

    repository: str


class Nothing(_Action, frozen=True, kw_only=True, tag="nothing"):
    """The event starts and feeds nothing. `own`: because it is the bot's own doing."""

    reason: str
    own: bool = False


Action = Feed | Hold | Lay | Cancel | Close | Guide | Remember | Reschedule | RetryMerges | Nothing
