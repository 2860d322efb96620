"""A session run by an agent CLI (`sessions.agent_type`) in place of the built-in loop.

The CLI gets the worktree, the same briefing, and the tools of the forge as programs on its PATH, and as a server
of tools (MCP) where it can be handed one; both ask this process over the session's socket: token and policy stay here. Its exit code is one witness among
several; what came of the run is judged by the same evidence.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from fordjent import threads
from fordjent.agent.protocols import Ended, Reason
from fordjent.config import Config
from fordjent.context import Context
from fordjent.models.messages import Answer, Message, Usage
from fordjent.models.model import ModelFailure
from fordjent.session_key import SessionKey
from fordjent.sessions import briefing, programs
from fordjent.sessions.conversation import SessionConversation
from fordjent.store import model_calls
from fordjent.store.model_calls import Call
from fordjent.tools import socket
from fordjent.tools.ground import Ground
from fordjent.tools.local import LOCAL
from fordjent.tools.scope import NotHere
from fordjent.tools.toolbox import Toolbox
from fordjent.workspaces import agent_files
from harness import adapter as adapters
from harness import agent_environment, agent_output, invocation, placeholders, shipped, supervision, sweeping
from harness.adapter import Adapter
from harness.agent_output import Said
from harness.invocation import Setting
from harness.sandbox import shared_part
from harness.supervision import EndedBy, Limits

KILL_GRACE_SECONDS = 10.0
SILENCE_SECONDS = 1200.0
OF_BASE = (
    "Files that configure agents (CLAUDE.md, AGENTS.md, .mcp.json, .claude/ and the like) are the base branch's in this "
    "folder, whatever the pull request makes of them: its own are in its diff."
)

_REPORTED: dict[str, Reason] = {
    "turn_limit": "max_turns",
    "quota": "error",
    "auth": "error",
    "error": "error",
}
_ENDED: dict[str, Reason] = {"timeout": "timeout", "silence": "no_progress", "cancelled": "cancelled"}


@dataclass
class AgentRun:
    """What one start of a CLI needs. `watch` says why it is to stop."""

    context: Context
    key: SessionKey
    run: str
    toolbox: Toolbox
    conversation: SessionConversation
    watch: Callable[[], Literal["", "cancelled", "timeout"]]
    seconds_left: float
    max_turns: int
    given_up: threading.Event = field(default_factory=threading.Event)


async def run(given: AgentRun) -> Ended:
    """To its end, with nothing of it left running; its last words are the conversation's.

    Raises:
        BadConfig: there is no such adapter, or it is wrong.
        Missing: the CLI is not installed.
    """
    messages = await given.conversation.messages()
    if messages[-1].role == "assistant":  # it had ended before a restart
        return Ended("answered", messages[-1].content, 0)
    scope = given.toolbox.scope
    chosen = tuple(name for name in scope.tools if name not in LOCAL)
    toolbox = Toolbox(replace(scope, tools=chosen))
    adapter = await threads.run(adapter_of, given.context.config)
    prompt = _prompt(given, adapter, messages, toolbox)
    try:
        paid = await _pay(given, adapter)
    except ModelFailure as failure:
        return Ended("budget", failure.message, 0, failure)
    async with socket.listen(toolbox, scope.ground.run_folder.socket) as listener:
        working = asyncio.ensure_future(
            threads.run(_supervise_apart, given, adapter, scope.ground, prompt, chosen)
        )
        try:
            ended, said = await asyncio.shield(working)
        except asyncio.CancelledError:
            given.given_up.set()
            await asyncio.wait({working}, timeout=KILL_GRACE_SECONDS + supervision.PATIENCE_SECONDS)
            raise
    await given.context.database.write(model_calls.settle, paid, _answer(adapter, said))
    by = ended.ended_by
    text = said.message or f"(it ended by {by} and said nothing)"
    if by == "bounds":
        text = f"{text}\n\nIt was ended: {ended.error}."
    text = given.context.redactor.redact(text)
    reason = _ENDED.get(by) or _REPORTED.get(said.reported) or _how(by)
    if listener.ended:
        reason = "ended_by_tool"
    if reason in ("answered", "ended_by_tool"):
        await given.conversation.append(Message("assistant", text))
    return Ended(reason, text, given.max_turns if reason == "max_turns" else 1)


def _how(ended_by: EndedBy) -> Reason:
    return "answered" if ended_by == "exit" else "error"


async def _pay(given: AgentRun, adapter: Adapter) -> int:
    """Note the run among the calls of models: what it takes is told at its end, if at all.

    Raises:
        ModelFailure: kind budget; one of them is used up.
    """
    scope, least = given.toolbox.scope, 1
    call = Call(str(given.key), given.run, given.key.repository, scope.role, 1, adapter.name, "", least)
    config, database = given.context.config, given.context.database
    return await database.write(model_calls.reserve, call, config.budget, time.time())


def _answer(adapter: Adapter, said: Said) -> Answer:
    usage, cached = said.usage, said.usage.cached_tokens or 0
    tokens = Usage((usage.input_tokens or 0) + cached, usage.output_tokens or 0, cached)
    cost = round((usage.cost_usd or 0.0) * 1_000_000)
    return Answer(Message("assistant", ""), tokens, "", adapter.name, cost_microdollars=cost)


def _prompt(given: AgentRun, adapter: Adapter, messages: list[Message], toolbox: Toolbox) -> str:
    """Rules, task and programs, in one text: a CLI knows no roles of messages."""
    config = given.context.config
    told = [messages[0].content, messages[-1].content]
    first_lines = [(spec.name, spec.description.splitlines()[0]) for spec in toolbox.specs()]
    place = toolbox.scope.session.place
    if place is not None and place.for_reading:
        told.append(OF_BASE)
    return "\n\n".join([told[0], briefing.programs(config, first_lines, adapter.takes_tools), *told[1:]])


# ---- in a thread


def _supervise_apart(
    given: AgentRun, adapter: Adapter, ground: Ground, prompt: str, names: tuple[str, ...]
) -> tuple[supervision.Ended, Said]:
    """Without what a stranger's pull request would configure the CLI with."""
    place = given.toolbox.scope.session.place
    with agent_files.of_base(place) if place else contextlib.nullcontext():
        return _supervise(given, adapter, ground, prompt, names)


def _supervise(
    given: AgentRun, adapter: Adapter, ground: Ground, prompt: str, names: tuple[str, ...]
) -> tuple[supervision.Ended, Said]:
    sweeping.sweep(given.run)  # what a start before a kill has left
    root = ground.run_folder.root / "agent"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    bin_ = root / "bin"
    path_script = programs.make(bin_, names, ground.run_folder.socket)
    setting = replace(_setting(given, adapter, ground, root, prompt), tools_server=programs.server(bin_))
    passed = agent_environment.inherited(
        os.environ, adapter.pass_environment, f"{adapter.path}: pass_environment"
    )
    path = f"{bin_}:{ground.environment['PATH']}"
    invoked = invocation.prepare(adapter, setting, path)
    stdout, stderr = root / "stdout.log", root / "stderr.log"
    view = replace(
        ground.view,
        writable=[*ground.view.writable, setting.config_dir, root],
        readable=[
            *ground.view.readable,
            bin_,
            *shared_part(Path(invoked.program)),
            *shared_part(adapter.path),
        ],
    )
    own = {
        "PATH": path,
        "BASH_ENV": str(path_script),
        "FORDJENT_SOCKET": str(ground.run_folder.socket),
    }
    ended = supervision.supervise(
        ground.sandbox.wrap(invoked.argv, view, ground.folder),
        cwd=ground.folder,
        env={**passed, **invoked.variables, **ground.environment, **own},
        stdin=invoked.stdin,
        transcript=stdout,
        stderr=stderr,
        limits=Limits(max(given.seconds_left, 1.0), SILENCE_SECONDS, KILL_GRACE_SECONDS, ground.bounds),
        progress=[_file(text, setting, stdout, stderr) for text in adapter.progress],
        stop_signal=adapter.stop_signal,
        marker=given.run,
        watch=lambda: _watch(given),
        wrapped=ground.sandbox.name != "none",
    )
    source = _file(adapter.output.source, setting, stdout, stderr)
    said = agent_output.read(adapter, source, stderr, ended.exit_code, datetime.now().astimezone())
    given.context.log.info(
        "agent.ended", run=given.run, ended_by=ended.ended_by, exit_code=ended.exit_code, why=ended.error
    )
    return ended, said


def _watch(given: AgentRun) -> EndedBy | None:
    if given.given_up.is_set():
        return "interrupted"
    why = given.watch()
    return why or None


def adapter_of(config: Config) -> Adapter:
    """What `sessions.agent_type` names, where it is not the built-in loop.

    Raises:
        BadConfig: there is no such adapter, or it is wrong.
    """
    folders = [shipped.folder("agents")]
    if config.agents_dir:
        folders.insert(0, config.folder(config.agents_dir))
    name = config.sessions.agent_type
    is_path = "/" in name or name.endswith(".toml")
    named = f"{config.path}: sessions.agent_type"
    return adapters.load(str(config.folder(name)) if is_path else name, folders, named)


def _setting(given: AgentRun, adapter: Adapter, ground: Ground, root: Path, prompt: str) -> Setting:
    config = given.context.config
    session = given.toolbox.scope.session
    if session.place is None:
        raise NotHere("an agent CLI needs a checkout of the repository")
    home = config.folder(config.agent_config_dir or f"~/.config/fordjent/{adapter.name}")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    pointer = (ground.folder / ".git").read_text("utf-8", "surrogateescape")
    return Setting(
        prompt=prompt,
        prompt_file=root / "prompt.md",
        worktree=ground.folder,
        git_dir=(ground.folder / pointer.removeprefix("gitdir:").strip()).resolve(),
        git_common_dir=session.place.work,
        config_dir=home,
        run_dir=root,
        issue_id=f"{given.key.kind}-{given.key.number}",
        max_turns=given.max_turns,
    )


def _file(text: str, setting: Setting, stdout: Path, stderr: Path) -> Path:
    """The file that "stdout", "stderr" or a path of the adapter means."""
    known = {"stdout": stdout, "stderr": stderr}
    return known.get(text) or setting.worktree / placeholders.fill(text, setting.values())
