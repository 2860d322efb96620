"""Keeping a conversation within the model's window, on disk too."""

from __future__ import annotations

from collections.abc import Sequence

from fordjent.agent import context, summary
from fordjent.agent.protocols import Conversation, Limits
from fordjent.models.messages import ToolSpec
from fordjent.models.model import Model


async def keep_within(
    conversation: Conversation, model: Model, tools: Sequence[ToolSpec], limits: Limits
) -> None:
    """Make the conversation shorter if it is over the threshold."""
    most = limits.context_window * limits.compaction_threshold
    now = context.tokens(await conversation.messages(), tools)
    if now > most:
        await make_shorter(conversation, model, limits, round(now - most * context.AIM))


async def make_shorter(conversation: Conversation, model: Model, limits: Limits, too_many: int) -> bool:
    """Take about `too_many` tokens out of it; whether anything could go.

    Raises:
        ModelFailure: kind budget, where the model was to sum up.
    """
    found = context.shorter(await conversation.messages(), too_many)
    if not found.changes:
        return False
    if found.left_out and limits.compaction == "summary":
        text = await summary.of(model, found.left_out, limits.context_window // 2)
        found.changes[found.notice_place] = context.notice(text)
    await conversation.replace(found.changes)
    return True
