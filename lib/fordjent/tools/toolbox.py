"""The tools of one run: what the model is offered, and each call done, noted, redacted and cut."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fordjent.agent.protocols import ToolResult
from fordjent.models.messages import ToolCall, ToolSpec
from fordjent.tools.local import LOCAL
from fordjent.tools.output import CAP, fit
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Outcome, Tool
from harness.errors import Failure

if TYPE_CHECKING:
    from fordjent.store.tool_calls import State

INTERRUPTED = (
    "This call was interrupted by a restart; it may have been done in part. Look before you do it again."
)
LONGEST = CAP + 2_000
"""Tools cut what they show at CAP, and say a word besides."""
RECORDED = 20_000
"""Characters of arguments and of a result that are kept."""


class Toolbox:
    """What `agent.turns` calls a Toolbox. `turn` is noted with each call."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.turn = 0
        known = self._known()
        self._tools = {name: known[name] for name in known if name in scope.tools}

    def specs(self) -> list[ToolSpec]:
        return [tool.spec for tool in self._tools.values()]

    async def call(self, call: ToolCall) -> ToolResult:
        """Do it. Whatever goes wrong is in the result; cancelling ends what was started."""
        tool = self._tools.get(call.name)
        if tool is None:
            return self._no_such(call.name)
        noted = await self._begin(tool, call)
        state: State = "interrupted"
        result = ToolResult(INTERRUPTED, failed=True)
        try:
            result = await self._do(tool, call)
            state = "failed" if result.failed else "done"
        finally:
            await asyncio.shield(self._end(noted, state, result.text))
        return result

    async def resume(self, call: ToolCall, run: str) -> ToolResult:
        """The result of a call that run `run` began and a crash cut off.

        What only looks, or finds again what it did, is done; the rest is answered as interrupted.
        """
        tool = self._tools.get(call.name)
        if tool is None or not tool.again:
            return ToolResult(INTERRUPTED, failed=True)
        before = Toolbox(_of_run(self.scope, run))
        before.turn = self.turn
        return await before.call(call)

    async def _do(self, tool: Tool, call: ToolCall) -> ToolResult:
        scope = self.scope.during(call.id, call.name, call.arguments)
        try:
            outcome = await tool.does(scope, tool.read(call.arguments))
        except Failure as failure:
            hint = f"\n{failure.hint}" if failure.hint else ""
            outcome = Outcome(f"Error: {failure.message}{hint}", failed=True)
        except Exception as error:  # the edge to the model: a bug of ours must not end its run
            scope.log.exception("tool.bug", tool=tool.name, run=scope.run)
            outcome = Outcome(
                f"Error: {tool.name} failed inside ({type(error).__name__}); it was logged", failed=True
            )
        if isinstance(outcome, str):
            outcome = Outcome(outcome)
        text = fit(outcome.text, scope.redactor, LONGEST)
        return ToolResult(text, failed=outcome.failed, ends=outcome.ends, changed=outcome.changed)

    def _known(self) -> Mapping[str, Tool]:
        if self.scope.in_session is None:
            return LOCAL
        from fordjent.tools.registry import TOOLS

        return TOOLS

    def _no_such(self, name: str) -> ToolResult:
        mine = ", ".join(self._tools)
        why = "is not for this role" if name in self._known() else "does not exist"
        return ToolResult(
            fit(f"Error: the tool {name[:80]!r} {why}. There are: {mine}", self.scope.redactor), True
        )

    # ---- the record

    async def _begin(self, tool: Tool, call: ToolCall) -> int | None:
        session = self.scope.in_session
        if session is None:
            return None
        from fordjent.store import tool_calls

        arguments = fit(tool.without_secrets(call.arguments), self.scope.redactor, RECORDED)
        return await session.context.database.write(
            tool_calls.begin,
            key=str(session.key),
            run=self.scope.run,
            turn=self.turn,
            call=call.id,
            name=tool.name,
            arguments=arguments,
            now=time.time(),
        )

    async def _end(self, noted: int | None, state: State, text: str) -> None:
        session = self.scope.in_session
        if session is not None and noted is not None:
            from fordjent.store import tool_calls

            result = fit(text, self.scope.redactor, RECORDED)
            await session.context.database.write(tool_calls.end, noted, state, result, time.time())


def _of_run(scope: Scope, run: str) -> Scope:
    return replace(scope, run=run)
