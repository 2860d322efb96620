"""How long a conversation is, and what to leave out when it gets too long.

First old tool output is shortened, then old turns go, whole. The first system's and the first user's
message, which are the task, always stay; what people said later goes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from fordjent.models import estimating
from fordjent.models.messages import Message, ToolSpec, user

NOTICE = "[Earlier turns were left out here to save room."
"""How the message begins that stands where turns were."""

RECENT_TURNS = 3
"""Those stay, and what their tools put out is shortened only when nothing else is left."""
SHORT_CHARACTERS = 800
"""What is left of old tool output: its beginning and its end."""
AIM = 0.6
"""How far below the threshold it is brought: each change costs the endpoint's cache."""


class Shorter(msgspec.Struct, frozen=True):
    """What changes, by place; None: goes. `left_out` is what the turns that go were, in order, and
    `notice_place` where the notice about them stands; -1: none went."""

    changes: dict[int, Message | None]
    left_out: tuple[Message, ...] = ()
    notice_place: int = -1


def tokens(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
    """How long the conversation is: as the endpoint counted it up to its last answer, an estimate since."""
    last = next(
        (place for place in reversed(range(len(messages))) if messages[place].role == "assistant"), -1
    )
    if last >= 0 and messages[last].tokens:
        return messages[last].tokens + estimating.of_messages(messages[last + 1 :])
    return estimating.of_messages(messages) + estimating.of_tools(tools)


def shorter(messages: Sequence[Message], too_many: int) -> Shorter:
    """What to change so that the conversation has `too_many` tokens less, or as near as the task allows."""
    cut = _Cut(messages, too_many)
    starts = [place for place, message in enumerate(messages) if message.role == "assistant"]
    task = _task(messages)
    end = _nth_last(starts, RECENT_TURNS, len(messages))
    cut.shorten(range(end))
    old = [place for place in starts if place < end]
    if old and not cut.is_enough:  # they go with the turns that go now: one notice is left
        cut.leave_out(place for place in range(end) if messages[place].content.startswith(NOTICE))
    for first, following in pairwise([*old, end]):
        if cut.is_enough:
            break
        cut.leave_out(
            place for place in range(first, following) if messages[place].role in ("assistant", "tool")
        )
    if not cut.is_enough:
        cut.leave_out_until_enough(
            place for place in range(end) if messages[place].role == "user" and place not in task
        )
    cut.shorten(range(end, len(messages)))
    return cut.done()


def applied(messages: Sequence[Message], changes: Mapping[int, Message | None]) -> list[Message]:
    """The messages with the changes made."""
    changed = [changes.get(place, message) for place, message in enumerate(messages)]
    return [message for message in changed if message is not None]


def notice(summary: str = "") -> Message:
    """What stands where turns were."""
    if summary:
        return user(f"{NOTICE} This is what was done in them:]\n\n{summary}")
    return user(f"{NOTICE} Files and commits show what was done in them.]")


def shortened(text: str) -> str:
    """The beginning and the end of a tool's output."""
    if len(text) <= SHORT_CHARACTERS + 100:
        return text
    half = SHORT_CHARACTERS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out to save room …]\n{text[-half:]}"


class _Cut:
    """The changes so far, and how many tokens they still have to save."""

    def __init__(self, messages: Sequence[Message], too_many: int) -> None:
        self._messages = messages
        self._too_many = too_many
        self._changes: dict[int, Message | None] = {}

    @property
    def is_enough(self) -> bool:
        return self._too_many <= 0

    def shorten(self, places: range) -> None:
        for place in places:
            message = self._messages[place]
            if self.is_enough:
                return
            if message.role == "tool" and place not in self._changes:
                self._change(place, msgspec.structs.replace(message, content=shortened(message.content)))

    def leave_out(self, places: Iterable[int]) -> None:
        for place in places:
            self._change(place, None)

    def leave_out_until_enough(self, places: Iterable[int]) -> None:
        for place in places:
            if self.is_enough:
                return
            self._change(place, None)

    def done(self) -> Shorter:
        gone = sorted(place for place, message in self._changes.items() if message is None)
        if gone:
            self._changes[gone[0]] = notice()
        self._forget_count()
        left_out = tuple(self._messages[place] for place in gone)
        return Shorter(self._changes, left_out, gone[0] if gone else -1)

    def _change(self, place: int, message: Message | None) -> None:
        before = self._changes.get(place, self._messages[place])
        if message == before:
            return
        self._changes[place] = message
        assert before is not None
        self._too_many -= estimating.of_message(before) - (estimating.of_message(message) if message else 0)

    def _forget_count(self) -> None:
        """The last answer's count of tokens is of the conversation as it was."""
        for place in reversed(range(len(self._messages))):
            if self._messages[place].role == "assistant":
                now = self._changes.get(place, self._messages[place])
                if self._changes and now is not None and now.tokens:
                    self._changes[place] = msgspec.structs.replace(now, tokens=0)
                return


def _task(messages: Sequence[Message]) -> set[int]:
    """The places of the first system's and the first user's message."""
    firsts = (
        next((place for place, message in enumerate(messages) if message.role == role), -1)
        for role in ("system", "user")
    )
    return set(firsts)


def _nth_last(starts: Sequence[int], number: int, default: int) -> int:
    """Where the last `number` turns begin; before the first when there are no more."""
    if not starts:
        return default
    return starts[-number] if len(starts) >= number else starts[0]
