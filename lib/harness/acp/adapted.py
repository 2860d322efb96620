"""How an adapter with `protocol = "acp"` is started and read: through our client, whatever the agent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from harness.adapter import Adapter
    from harness.invocation import Setting

CLIENT = Path(__file__).with_name("__main__.py")

_ENDED = "type == 'result' && stop_reason"
OUTPUT = {
    "message": "type == 'result' && (error || message)",
    "success": f"{_ENDED} == 'end_turn'",
    "error": f"{_ENDED} && stop_reason != 'end_turn' && join(': ', [stop_reason, error])",
    "input_tokens": "type == 'result' && usage.input_tokens",
    "output_tokens": "type == 'result' && usage.output_tokens",
    "cached_tokens": "type == 'result' && usage.cached_tokens",
    "cost_usd": "type == 'result' && usage.cost_usd",
}
TURN_LIMIT = r"(?m)^max_turn_requests: "
AUTH = r"(?m)^auth_required: "


def completed(adapter: Adapter) -> Adapter:
    """The adapter with what our client prints filled in; an expression that it gives itself stands."""
    given = dict(adapter.output.expressions())
    failure = adapter.failure
    return msgspec.structs.replace(
        adapter,
        progress=adapter.progress or ["stdout"],
        output=msgspec.structs.replace(adapter.output, format="jsonl", **{**OUTPUT, **given}),
        failure=msgspec.structs.replace(
            failure, turn_limit=[*failure.turn_limit, TURN_LIMIT], auth=[*failure.auth, AUTH]
        ),
    )


def command(adapter: Adapter, setting: Setting, agent: Sequence[str]) -> list[str]:
    """The client's command around the agent's; the model is asked for by the protocol where the
    adapter has no `model_args`."""
    acp = adapter.acp
    options = ["--permission", acp.permission]
    if acp.mode:
        options += ["--mode", acp.mode]
    if setting.model and not adapter.model_args:
        options += ["--model", setting.model]
    if setting.max_turns:
        options += ["--max-turns", str(setting.max_turns)]
    if setting.tools_server:
        options += ["--tools-server", str(setting.tools_server)]
    if acp.usage_expected:
        options.append("--usage-expected")
    if acp.failure_text:
        options += ["--failure-text", acp.failure_text]
    return [sys.executable, "-I", str(CLIENT), *options, "--", *agent]
