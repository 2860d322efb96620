"""From an adapter and a prompt to an argument list, a stdin and a few variables."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness import atomic, placeholders
from harness.acp import adapted
from harness.adapter import Adapter
from harness.errors import BadConfig, Missing

ARGUMENT_BYTES = 64 * 1024
"""The most that is passed in argv; a single argument of 128 KiB is refused by the kernel (execve(2))."""


@dataclass(frozen=True)
class Setting:
    """What the placeholders stand for in one run; `max_turns` 0 and `model` "" : not given. `tools_server`: the
    program of a server of tools (Model Context Protocol), for agents that can be handed one."""

    prompt: str
    prompt_file: Path
    worktree: Path
    git_dir: Path
    git_common_dir: Path
    config_dir: Path
    run_dir: Path
    issue_id: str
    model: str = ""
    max_turns: int = 0
    tools_server: Path | None = None

    @property
    def mcp_file(self) -> Path:
        return self.run_dir / "mcp.json"

    def values(self, prompt: str = "") -> dict[str, str]:
        return {
            "prompt": prompt,
            "prompt_file": str(self.prompt_file),
            "worktree": str(self.worktree),
            "git_dir": str(self.git_dir),
            "git_common_dir": str(self.git_common_dir),
            "config_dir": str(self.config_dir),
            "run_dir": str(self.run_dir),
            "model": self.model,
            "max_turns": str(self.max_turns),
            "issue_id": self.issue_id,
            "mcp_command": json.dumps(str(self.tools_server), ensure_ascii=False),
            "mcp_file": str(self.mcp_file),
        }


@dataclass(frozen=True)
class Invocation:
    """`program`: the CLI's own, wherever it stands in `argv`. `stdin` None: nothing to read.
    `variables`: those that the adapter sets."""

    argv: list[str]
    program: str
    stdin: Path | None
    variables: dict[str, str]


def prepare(adapter: Adapter, setting: Setting, path: str) -> Invocation:
    """Write the prompt's file (0600) and build the command; `path` is the child's PATH.

    Raises:
        Missing: the command, or the interpreter that its first line names, is not there.
    """
    atomic.write_bytes(setting.prompt_file, setting.prompt.encode("utf-8", "replace"))
    values = setting.values(_argument(adapter, setting))
    argv = [placeholders.fill(word, values) for word in _words(adapter, setting)]
    argv[0] = found = program(adapter, argv[0], path)
    if adapter.protocol == "acp":
        argv = adapted.command(adapter, setting, argv)
    environment = dict(adapter.environment)
    if setting.tools_server and adapter.takes_tools:
        environment |= adapter.mcp.environment
        if adapter.mcp.file:
            atomic.write_bytes(
                setting.mcp_file, placeholders.fill(adapter.mcp.file, values).encode("utf-8", "replace")
            )
    variables = {name: placeholders.fill(text, values) for name, text in environment.items()}
    if adapter.config_dir_variable:
        variables[adapter.config_dir_variable] = str(setting.config_dir)
    return Invocation(argv, found, setting.prompt_file if adapter.prompt == "stdin" else None, variables)


def program(adapter: Adapter, word: str, path: str) -> str:
    """The absolute path of an adapter's program: a name on PATH, or ./file beside the adapter.

    Raises:
        BadConfig: a relative path that does not begin with ./
        Missing: it is not there; the hint is the adapter's install line.
    """
    if "/" in word and not word.startswith(("/", "./")):
        raise BadConfig(
            f"{adapter.path}: command: {word!r} must be a name on PATH, ./file or an absolute path"
        )
    place = str(adapter.path.parent / word) if word.startswith("./") else word
    found = shutil.which(place, path=path)
    hint = f"install it with `{adapter.install}`" if adapter.install else f"see that PATH has it: {path}"
    if found is None:
        raise Missing(f"{word} is not installed", hint=hint, code="agent_missing")
    needed = interpreter(found)
    if needed and shutil.which(needed, path=path) is None:
        raise Missing(
            f"{found} needs {needed}, which is not on PATH",
            hint="set PATH in [agent_environment] set, or in the crontab",
            code="agent_missing",
        )
    return found


def _words(adapter: Adapter, setting: Setting) -> list[str]:
    """The command with the options that config asks for, before a `--` where it has one."""
    options = adapter.model_args if setting.model else []
    if setting.max_turns:
        options = [*options, *adapter.max_turns_args]
    if setting.tools_server:
        options = [*options, *adapter.mcp.args]
    words = list(adapter.command)
    place = words.index("--") if "--" in words else len(words)
    return [*words[:place], *options, *words[place:]]


def _argument(adapter: Adapter, setting: Setting) -> str:
    """What {prompt} stands for: the prompt, or where to read it when it is too large for argv."""
    if adapter.prompt != "argument":
        return ""
    if len(setting.prompt.encode("utf-8", "replace")) <= ARGUMENT_BYTES:
        return setting.prompt
    return placeholders.fill(adapter.large_prompt, setting.values())


def interpreter(program: str) -> str:
    """The interpreter that a script's first line names; "" for anything else."""
    try:
        with Path(program).open("rb") as file:
            first = file.readline(512)
    except OSError:
        return ""
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else ""
