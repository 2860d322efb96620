"""Our side of the conversation: what the agent reports, and what it asks for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from acp import RequestError
from acp.meta import CLIENT_METHODS
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
)

from harness import cutting
from harness.acp.outcome import MESSAGE_LIMIT, Facts
from harness.acp.progress import Progress

Policy = Literal["allow", "reject"]

_REPEAT_SECONDS = 1.0  # agents repeat a tool's whole output with each line that it prints


@dataclass
class _Tool:
    """A tool call as it was last shown."""

    status: str = ""
    shown_at: float = -math.inf


class Conversation:
    """The handler of a connection: shows updates, answers permission requests, denies the rest.

    `too_many_turns` is called when the agent starts a tool call more than `max_turns`
    (0: no limit).
    """

    def __init__(
        self, progress: Progress, policy: Policy, max_turns: int, too_many_turns: Callable[[], None]
    ) -> None:
        self.facts = Facts()
        self.cancelling = False
        self._progress = progress
        self._policy = policy
        self._max_turns = max_turns
        self._too_many_turns = too_many_turns
        self._tools: dict[str, _Tool] = {}
        self._message_id: Any = None
        self._message_over = False

    async def __call__(self, method: str, params: Any, is_notification: bool) -> Any:
        """Answer a request, or take a notification in.

        Raises:
            RequestError: something that we do not offer (files, terminals, forms).
        """
        if method == CLIENT_METHODS["session_update"]:
            return self._follow(_mapping(_mapping(params).get("update")))
        if method == CLIENT_METHODS["session_request_permission"]:
            return self._decide(RequestPermissionRequest.model_validate(params))
        if is_notification:
            return None
        self._progress.say("denied", method=method)
        raise RequestError.method_not_found(method)

    def _decide(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        """By the policy, and for this once where that is among the options."""
        self._tool(request.tool_call.tool_call_id)
        chosen = None if self.cancelling else _preferred(request.options, self._policy)
        self._progress.say(
            "permission", tool=request.tool_call.title, answer=chosen.kind if chosen else "cancelled"
        )
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        )

    def _follow(self, update: Mapping[str, Any]) -> None:
        """Read by ourselves, not by the library's types: a later protocol's update does no harm."""
        kind = str(update.get("sessionUpdate"))
        if kind == "agent_message_chunk":
            self._hear(_text(update.get("content")), update.get("messageId"))
        elif kind == "agent_thought_chunk":
            self._progress.grow("thought", _text(update.get("content")))
        elif kind in ("tool_call", "tool_call_update"):
            self._watch(kind, update)
        elif kind == "usage_update":
            self._account(_mapping(update.get("cost")))
        elif kind == "plan":
            self._progress.say("plan", entries=update.get("entries"))
        elif kind not in ("user_message_chunk", "available_commands_update"):
            self._progress.say(kind)

    def _hear(self, text: str, message_id: Any) -> None:
        """The message is all that was said since the last tool call."""
        if self._message_over:
            self.facts.message = ""
        elif self.facts.message and message_id != self._message_id:
            text = f"\n\n{text}"
        self._message_over = False
        self._message_id = message_id
        self.facts.message = cutting.ending(self.facts.message + text, MESSAGE_LIMIT)
        self._progress.grow("message", text)

    def _watch(self, kind: str, update: Mapping[str, Any]) -> None:
        name = str(update.get("toolCallId"))
        tool = self._tool(name)
        status = str(update.get("status") or tool.status)
        now = time.monotonic()
        if status == tool.status and now - tool.shown_at < _REPEAT_SECONDS:
            return
        tool.status, tool.shown_at = status, now
        about = {
            "title": update.get("title"),
            "kind": update.get("kind"),
            "input": update.get("rawInput"),
            "output": _output(update),
        }
        told = {key: value for key, value in about.items() if value}
        self._progress.say(kind, id=name, status=status, **told)

    def _tool(self, name: str) -> _Tool:
        """The tool call, counted as a turn when it is new: some agents name it first when they ask."""
        if name not in self._tools:
            self._tools[name] = _Tool()
            self._message_over = True
            self.facts.turns = len(self._tools)
            if self.facts.turns == self._max_turns + 1 > 1:
                self._too_many_turns()
        return self._tools[name]

    def _account(self, cost: Mapping[str, Any]) -> None:
        amount = cost.get("amount")
        if cost.get("currency") == "USD" and isinstance(amount, int | float) and math.isfinite(amount):
            self.facts.cost_usd = float(amount)
            self._progress.say("cost", usd=self.facts.cost_usd)


def _preferred(options: Sequence[PermissionOption], policy: Policy) -> PermissionOption | None:
    """The option for this once, else the one for always; None: the policy has none among them."""
    wanted = ("allow_once", "allow_always") if policy == "allow" else ("reject_once", "reject_always")
    return next((option for kind in wanted for option in options if option.kind == kind), None)


def _output(update: Mapping[str, Any]) -> str:
    """What a tool call has put out so far, as text."""
    content = update.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [_text(_mapping(block).get("content")) for block in blocks]
    return "\n".join(text for text in texts if text)


def _text(block: Any) -> str:
    """The text of a content block; "" for images and the like."""
    text = _mapping(block).get("text")
    return text if isinstance(text, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
