"""One attempt at one endpoint, and how it can fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from fordjent.models.messages import Answer, Message, ToolSpec, Usage

FailedKind = Literal["broken", "busy", "open", "auth", "refused", "context", "quota"]

WORTH_RETRYING = frozenset(("broken", "busy", "open"))


class AttemptFailed(Exception):
    """One attempt came to nothing.

    `kind`: broken (5xx, network, an answer of no use), busy (429), open (not asked: the breaker is open),
    and those that stop at once: auth, refused, context, quota. `retry_after_seconds`: what the endpoint
    asks for, at least. `usage`: what the attempt is likely to be charged for.
    """

    def __init__(
        self, kind: FailedKind, message: str, *, retry_after_seconds: float = 0.0, usage: Usage | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after_seconds = retry_after_seconds
        self.usage = usage or Usage()


class Endpoint(Protocol):
    """Where a model is asked. Answers have no cost and no retries yet."""

    async def attempt(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        """
        Raises:
            AttemptFailed: no answer that could be used.
        """
        ...

    async def aclose(self) -> None: ...
