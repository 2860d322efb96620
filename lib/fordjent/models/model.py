"""A model as the loop sees it, and the one way in which it fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from fordjent.models.messages import Answer, Message, ToolSpec, Usage
from harness.errors import EX_CONFIG, EX_NOPERM, EX_TEMPFAIL, Failure

Kind = Literal["auth", "refused", "context", "quota", "exhausted", "budget"]

_EXIT_CODES = {"auth": EX_NOPERM, "refused": EX_CONFIG, "context": EX_CONFIG}


class ModelFailure(Failure):
    """No answer is to be had.

    `kind`: auth (401, 403: a person must act), refused (400, 404 …: the request or the configuration
    is wrong), context (the conversation is too long), quota (402, 429 that did not end), exhausted
    (tried as often as allowed), budget (ours, reached: nothing was asked). `spent`: on attempts that came
    to nothing.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        hint: str = "",
        resume_at: str = "",
        spent: Usage | None = None,
        spent_microdollars: int = 0,
    ) -> None:
        super().__init__(message, hint=hint, code=f"model_{kind}", resume_at=resume_at)
        self.kind = kind
        self.spent = spent or Usage()
        self.spent_microdollars = spent_microdollars
        self.exit_code = _EXIT_CODES.get(kind, EX_TEMPFAIL)
        self.retry = kind in ("quota", "exhausted")


class Model(Protocol):
    """What answers conversations."""

    async def answer(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Answer:
        """The next message of a conversation that is valid (agent.history).

        Raises:
            ModelFailure: after all that was worth trying.
        """
        ...
