"""A session's tools as a server of the Model Context Protocol, on this process's stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from fordjent.mcp.session import Session
from fordjent.models.messages import ToolSpec
from harness import __version__
from harness.errors import Failure

NAME = "fordjent"
INSTRUCTIONS = (
    "The forge's side of your task: issues, comments, and the pull request that you hand your work over with."
)
SIGN_OF_LIFE_SECONDS = 5.0
"""Clients give a call up that says nothing for long, and a pull request's checks may take minutes."""

Asked = ServerRequestContext[dict[str, object]]


async def serve(session: Session) -> None:
    """Until stdin ends.

    Raises:
        TryLater: the session's run has ended before it began.
    """
    tools = [_tool(spec) for spec in await session.tools()]

    async def list_tools(_asked: Asked, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(asked: Asked, params: CallToolRequestParams) -> CallToolResult:
        arguments = msgspec.json.encode(params.arguments or {}).decode()
        async with _signs_of_life(asked):
            try:
                answer = await session.call(params.name, arguments)
            except Failure as failure:
                hint = f" ({failure.hint})" if failure.hint else ""
                return _result(f"Error: {failure.message}{hint}", failed=True)
        return _result(answer.text, failed=answer.failed)

    server = Server(
        NAME,
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (receiving, sending):
        await server.run(receiving, sending, server.create_initialization_options())


def _tool(spec: ToolSpec) -> Tool:
    return Tool(name=spec.name, description=spec.description, input_schema=spec.parameters)


def _result(text: str, *, failed: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=failed)


@contextlib.asynccontextmanager
async def _signs_of_life(asked: Asked) -> AsyncIterator[None]:
    """Progress, as often as needed, to a client that asked to be told of it."""

    async def tell() -> None:
        told = 0
        while True:
            await asyncio.sleep(SIGN_OF_LIFE_SECONDS)
            told += 1
            await asked.session.report_progress(told)

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
