"""What a session said and did, as lines of its memory: made of the rows of the database, redacted, then cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Literal

import msgspec

from fordjent.session_key import SessionKey
from fordjent.store.messages import Stored
from fordjent.store.tool_calls import Done
from fordjent.tools.output import fit
from harness.clock import timestamp
from harness.redaction import Redactor

LONGEST_RESPONSE = 16_000
LONGEST = 4_000
"""Characters of anything else."""

Type = Literal["input", "response", "tool_call"]


class Through(msgspec.Struct, frozen=True, array_like=True):
    """How far the database has been written down: the last message's number and the last call's."""

    message: int = -1
    call: int = 0


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of memory.jsonl. Of a `response`, `calls` are the tools that it asked for.

    `event_id`: e.g. "message:12", one of it in a memory; `timestamp`: when it was said, or begun.
    """

    timestamp: str
    event_id: str
    event_type: Type
    session_key: str
    repository: str
    issue_number: int
    run: str = ""
    turn: int = 0
    input: str = ""
    response: str = ""
    calls: list[str] = []
    tool_name: str = ""
    tool_args: str = ""
    tool_result: str = ""
    tool_state: str = ""
    seconds: float = 0.0
    through: Through = Through()


def of(
    key: SessionKey,
    said: Sequence[Stored],
    done: Sequence[Done],
    since: Through,
    redactor: Redactor,
    *,
    after: float = -inf,
) -> Iterator[Entry]:
    """Both in the order in which they were, each kind in the order of its numbers; none from before `after`."""
    make = _Maker(key, redactor, since)
    messages, calls = list(reversed(said)), list(reversed(done))
    while messages or calls:
        if calls and (not messages or calls[-1].begun_at < messages[-1].at):
            at, entry = calls[-1].begun_at, make.call(calls.pop())
        else:
            at, entry = messages[-1].at, make.message(messages.pop())
        if entry and at > after:
            yield entry


class _Maker:
    def __init__(self, key: SessionKey, redactor: Redactor, since: Through) -> None:
        self._key = key
        self._redactor = redactor
        self._through = since

    def message(self, stored: Stored) -> Entry | None:
        """None: rules, and what a tool gave, which its call tells."""
        message = stored.message
        self._through = msgspec.structs.replace(self._through, message=stored.seq)
        if message.role == "user":
            return self._entry("input", f"message:{stored.seq}", stored, input=self._fit(message.content))
        if message.role == "assistant":
            response = fit(message.content, self._redactor, LONGEST_RESPONSE)
            calls = [self._fit(call.name) for call in message.tool_calls]
            return self._entry("response", f"message:{stored.seq}", stored, response=response, calls=calls)
        return None

    def call(self, done: Done) -> Entry | None:
        self._through = msgspec.structs.replace(self._through, call=done.id)
        ended_at = done.ended_at or done.begun_at
        return Entry(
            timestamp=timestamp(done.begun_at),
            event_id=f"call:{done.id}",
            event_type="tool_call",
            session_key=str(self._key),
            repository=self._key.repository,
            issue_number=self._key.number,
            run=done.run,
            turn=done.turn,
            tool_name=done.name,
            tool_args=self._fit(done.arguments),
            tool_result=self._fit(done.result),
            tool_state=done.state,
            seconds=round(max(ended_at - done.begun_at, 0.0), 3),
            through=self._through,
        )

    def _entry(
        self,
        kind: Type,
        event_id: str,
        stored: Stored,
        *,
        input: str = "",
        response: str = "",
        calls: Sequence[str] = (),
    ) -> Entry:
        return Entry(
            timestamp=timestamp(stored.at),
            event_id=event_id,
            event_type=kind,
            session_key=str(self._key),
            repository=self._key.repository,
            issue_number=self._key.number,
            run=stored.run,
            turn=stored.turn,
            input=input,
            response=response,
            calls=list(calls),
            through=self._through,
        )

    def _fit(self, text: str) -> str:
        return fit(text, self._redactor, LONGEST)
