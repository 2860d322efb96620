"""One conversation from the agent's start to its end, and every way in which it can be cut short."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from acp import PROTOCOL_VERSION, RequestError, text_block
from acp.connection import Connection
from acp.meta import AGENT_METHODS
from acp.schema import (
    CancelNotification,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    McpServerStdio,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
)
from acp.utils import notify_model, request_model, serialize_params
from pydantic import ValidationError

from harness.acp.child import Child, started
from harness.acp.conversation import Conversation, Policy
from harness.acp.frames import Frames
from harness.acp.outcome import FailureSigns, Result, StopReason, judge
from harness.acp.progress import Progress

T = TypeVar("T")

_LAST_WORDS_SECONDS = 1.0  # for what a dead agent wrote and we have not read yet


@dataclass(frozen=True)
class Options:
    """What to start and how to treat it. `max_turns` 0: no limit; `model`, `mode` "": the agent's own;
    `tools_server` "": none."""

    command: tuple[str, ...]
    policy: Policy = "allow"
    model: str = ""
    mode: str = ""
    max_turns: int = 0
    tools_server: str = ""
    start_seconds: float = 120.0
    cancel_seconds: float = 5.0
    signs: FailureSigns = field(default_factory=FailureSigns)


async def converse(options: Options, prompt: str, progress: Progress) -> Result:
    """Start the agent, send it the prompt, follow it to its answer, end it; prints the result too.

    SIGINT, SIGTERM and SIGHUP cancel the turn; a second one kills.

    Raises:
        Missing: there is no such command.
    """
    stop: asyncio.Future[StopReason] = asyncio.get_running_loop().create_future()
    async with started(options.command) as child:
        _heed_signals(stop, child)
        session = _Session(options, progress, child, stop)
        answer: PromptResponse | Exception | None
        try:
            answer = await session.answer(prompt)
        except (OSError, RequestError, ValidationError) as error:
            answer = error
        finally:
            await session.connection.close()
        stopped = stop.result() if stop.done() else None
        result = judge(answer, session.conversation.facts, options.signs, stopped)
        progress.end(result)  # before the agent is ended: whoever kills us meanwhile has it
    return result


class _Session:
    """The connection to a started agent."""

    def __init__(
        self, options: Options, progress: Progress, child: Child, stop: asyncio.Future[StopReason]
    ) -> None:
        self._options = options
        self._progress = progress
        self._child = child
        self._stop = stop
        self._gone = asyncio.ensure_future(child.ended())
        self.conversation = Conversation(
            progress, options.policy, options.max_turns, partial(_ask_to_stop, stop, "max_turn_requests")
        )
        self.connection = Connection(self.conversation, Frames(child.stdout, child.stdin, progress.dropped))

    async def answer(self, prompt: str) -> PromptResponse | None:
        """The agent's answer to the prompt; None: it was stopped and has not answered.

        Raises:
            RequestError: the agent says that it failed.
            TimeoutError: it opened no session in time.
            ConnectionError: it has ended, or closed its output.
            ValidationError: what it answered is not in the protocol.
        """
        opening = asyncio.ensure_future(self._open())
        if not await self._settles(opening, self._options.start_seconds):
            opening.cancel()
            if self._stop.done():
                return None
            raise TimeoutError(f"the agent opened no session within {self._options.start_seconds:g} s")
        session_id = await self._result(opening)

        request = PromptRequest(session_id=session_id, prompt=[text_block(prompt)])
        answer = asyncio.ensure_future(
            request_model(self.connection, AGENT_METHODS["session_prompt"], request, PromptResponse)
        )
        if not await self._settles(answer, None):
            cancelling = asyncio.ensure_future(self._cancel(session_id))
            settled = await self._settles(answer, self._options.cancel_seconds, heed_stop=False)
            cancelling.cancel()
            if not settled:
                answer.cancel()
                return None
        return await self._result(answer)

    async def _open(self) -> str:
        """The id of a new session in the current folder, in the mode and with the model asked for."""
        hello = InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_info=Implementation(name="ent-agent", title="ent-agent", version="0.1.0"),
        )
        agent = await request_model(self.connection, AGENT_METHODS["initialize"], hello, InitializeResponse)
        server = self._options.tools_server
        tools = [McpServerStdio(name=Path(server).stem, command=server, args=[], env=[])] if server else []
        place = NewSessionRequest(cwd=str(Path.cwd()), mcp_servers=list(tools))
        session = await request_model(
            self.connection, AGENT_METHODS["session_new"], place, NewSessionResponse
        )
        about = agent.agent_info
        self._progress.say(
            "session", id=session.session_id, agent=f"{about.name} {about.version}" if about else ""
        )
        if self._options.mode:
            mode = SetSessionModeRequest(session_id=session.session_id, mode_id=self._options.mode)
            await self._request("session_set_mode", mode)
        if self._options.model:
            await self._choose_model(session)
        return session.session_id

    async def _choose_model(self, session: NewSessionResponse) -> None:
        option = next((o for o in session.config_options or [] if "model" in (o.id, o.category)), None)
        if option:
            choice = SetSessionConfigOptionSelectRequest(
                session_id=session.session_id, config_id=option.id, value=self._options.model
            )
            await self._request("session_set_config_option", choice)
        else:
            # From before there were options; the library has no type for it any more.
            old = {"sessionId": session.session_id, "modelId": self._options.model}
            await self.connection.send_request("session/set_model", old)

    async def _request(self, method: str, params: Any) -> None:
        await self.connection.send_request(AGENT_METHODS[method], serialize_params(params))

    async def _cancel(self, session_id: str) -> None:
        self.conversation.cancelling = True
        self._progress.say("cancelling", reason=self._stop.result())
        with contextlib.suppress(ConnectionError):
            await notify_model(
                self.connection, AGENT_METHODS["session_cancel"], CancelNotification(session_id=session_id)
            )

    async def _settles(
        self, request: asyncio.Future[Any], seconds: float | None, *, heed_stop: bool = True
    ) -> bool:
        """Whether the request is decided before the time is up or (`heed_stop`) we are told to stop."""
        awaited = {request, self._gone, *([self._stop] if heed_stop else [])}
        await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._gone.done():
            await asyncio.wait({request}, timeout=_LAST_WORDS_SECONDS)
            await self.connection.close()  # a tool that outlives the agent may hold its stdout open
            await asyncio.wait({request})
        return request.done()

    async def _result(self, request: asyncio.Future[T]) -> T:
        try:
            return request.result()
        except ConnectionError:
            await asyncio.wait({self._gone}, timeout=_LAST_WORDS_SECONDS)
            code = self._child.exit_code
            how = "closed its output" if code is None else f"ended with exit code {code}"
            raise ConnectionError(f"the agent {how} before it answered") from None


def _heed_signals(stop: asyncio.Future[StopReason], child: Child) -> None:
    def heed() -> None:
        if stop.done():
            child.kill()
        _ask_to_stop(stop, "cancelled")

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, heed)


def _ask_to_stop(stop: asyncio.Future[StopReason], reason: StopReason) -> None:
    if not stop.done():
        stop.set_result(reason)
