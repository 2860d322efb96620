"""How a conversation ended: the result line, and the exit code for each way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from harness.acp.progress import clean, clip
from harness.errors import EX_NOPERM

if TYPE_CHECKING:
    from acp.schema import PromptResponse

StopReason = Literal[
    "end_turn", "error", "refusal", "max_tokens", "max_turn_requests", "auth_required", "cancelled"
]

EXIT_CODES: dict[StopReason, int] = {
    "end_turn": 0,
    "error": 1,
    "refusal": 3,
    "max_tokens": 4,
    "max_turn_requests": 5,
    "auth_required": EX_NOPERM,
    "cancelled": 130,
}

AUTHENTICATION_CODES = (-32000, 401, 403)
"""-32000 is the protocol's; some agents pass the provider's HTTP status on."""
MESSAGE_LIMIT = 60_000
"""Characters of the agent's last words that the result keeps: the end of them."""


class Usage(msgspec.Struct, kw_only=True):
    """What the agent says that it used: some say nothing, some their last call alone."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class Result(msgspec.Struct, tag_field="type", tag="result", kw_only=True):
    """The last line. `turns`: tool calls seen; `error`: why it is not `end_turn`, if there is more to say."""

    stop_reason: StopReason
    message: str = ""
    usage: Usage = msgspec.field(default_factory=Usage)
    turns: int = 0
    error: str = ""

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.stop_reason]


@dataclass
class Facts:
    """What was seen while the agent worked. `message`: its text since its last tool call."""

    message: str = ""
    turns: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True)
class FailureSigns:
    """How this agent's `end_turn` shows that its provider failed: some report nothing else."""

    no_usage: bool = False
    text: str = ""


def judge(
    answer: PromptResponse | Exception | None,
    facts: Facts,
    signs: FailureSigns,
    stopped: StopReason | None,
) -> Result:
    """The result of a conversation.

    `answer` is what the request for the turn came to, None: nothing; `stopped` is why we
    cancelled it, None: we did not. After that the answer does not matter: agents
    answer a cancellation with `cancelled`, with an internal error, or never.
    """
    usage = _usage(getattr(answer, "usage", None), facts)
    stop_reason, error = _reason(answer, facts, signs, stopped, usage)
    return Result(
        stop_reason=stop_reason,
        message=clean(facts.message[-MESSAGE_LIMIT:].strip()),
        usage=usage,
        turns=facts.turns,
        error=error,
    )


def _reason(
    answer: PromptResponse | Exception | None,
    facts: Facts,
    signs: FailureSigns,
    stopped: StopReason | None,
    usage: Usage,
) -> tuple[StopReason, str]:
    from acp import RequestError

    if stopped:
        return stopped, "" if answer else "the agent did not answer the cancellation"
    if answer is None:
        return "error", "the agent ended before it answered"
    if isinstance(answer, RequestError):
        code = answer.code
        return "auth_required" if code in AUTHENTICATION_CODES else "error", describe(answer)
    if isinstance(answer, Exception):
        return "error", str(clip(str(answer)))
    if answer.stop_reason == "end_turn":
        if signs.text and re.search(signs.text, facts.message):
            return "error", str(clip(facts.message.strip()))
        if signs.no_usage and usage.input_tokens is None:
            return "error", "the turn ended without usage: the provider did not answer"
    return answer.stop_reason, ""


def describe(error: Any) -> str:
    """A JSON-RPC error with its code and its data."""
    data = "" if error.data in (None, {}, "") else f": {clip(error.data)}"
    return f"{clip(str(error))} (code {error.code}){data}"


def _usage(reported: Any, facts: Facts) -> Usage:
    if reported is None:
        return Usage(cost_usd=facts.cost_usd)
    return Usage(
        input_tokens=reported.input_tokens,
        output_tokens=reported.output_tokens,
        cached_tokens=reported.cached_read_tokens,
        cost_usd=facts.cost_usd,
    )
