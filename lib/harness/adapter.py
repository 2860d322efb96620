"""An agent CLI as data: agents/<name>.toml, read and checked (docs/agents.md has every key)."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from harness import config as toml
from harness import placeholders
from harness.acp import adapted
from harness.errors import BadConfig

Expression = str
"""A JMESPath expression; "": none."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Output(Table, frozen=True):
    """How message, verdict and usage are read out of what the CLI printed or wrote."""

    source: str = "stdout"
    format: Literal["text", "json", "jsonl"] = "text"
    message: Expression = ""
    success: Expression = ""
    error: Expression = ""
    input_tokens: Expression = ""
    output_tokens: Expression = ""
    cached_tokens: Expression = ""
    cost_usd: Expression = ""
    usage_command: list[str] = []

    def expressions(self) -> Iterator[tuple[str, Expression]]:
        for key in (
            "message",
            "success",
            "error",
            "input_tokens",
            "output_tokens",
            "cached_tokens",
            "cost_usd",
        ):
            if expression := getattr(self, key):
                yield key, expression


class FailureTexts(Table, frozen=True):
    """Regular expressions on what the CLI says when it fails."""

    turn_limit: list[str] = []
    quota: list[str] = []
    auth: list[str] = []
    resume_at: str = ""


class Acp(Table, frozen=True):
    """How `protocol = "acp"` treats the agent.

    `mode`: of its session, by the agent's own name. `usage_expected`: a turn that ends well but
    without usage has failed; `failure_text`: so has one whose message matches. Some agents
    tell of their provider's failure in no other way.
    """

    permission: Literal["allow", "reject"] = "allow"
    mode: str = ""
    usage_expected: bool = False
    failure_text: str = ""


class Mcp(Table, frozen=True):
    """How the CLI takes a server of tools (Model Context Protocol) for one run; nothing given: it cannot.

    `file`: the text of a file that is made for the run. In all three `{mcp_file}` is its path, and
    `{mcp_command}` the server's program as a string of JSON (or TOML) with its quotes.
    """

    file: str = ""
    args: list[str] = []
    environment: dict[str, str] = {}


class Adapter(Table, frozen=True, kw_only=True, dict=True):
    """One agent CLI. `path` is the file that it was read from."""

    description: str = ""
    homepage: str = ""
    install: str = ""
    login_check: list[str] = []
    """Exits 0 when the CLI is logged in; asked by the doctor only. No placeholders."""
    command: Annotated[list[str], msgspec.Meta(min_length=1)]
    model_args: list[str] = []
    prompt: Literal["stdin", "argument", "file"] = "stdin"
    large_prompt: str = "Read the file {prompt_file} and follow it."
    config_dir_variable: str = ""
    environment: dict[str, str] = {}
    pass_environment: list[str] = []
    protocol: Literal["exec", "acp"] = "exec"
    acp: Acp = Acp()
    mcp: Mcp = Mcp()
    progress: list[str] = []
    stop_signal: str = "TERM"
    max_turns_args: list[str] = []
    output: Output = Output()
    failure: FailureTexts = msgspec.field(default_factory=FailureTexts)

    @cached_property
    def path(self) -> Path:
        return Path("adapter.toml").absolute()  # replaced by `load`

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def takes_tools(self) -> bool:
        """Whether it can be handed a server of tools; by its own protocol, every agent of that can."""
        return self.protocol == "acp" or bool(self.mcp.args or self.mcp.environment)


def load(name_or_path: str, folders: Sequence[Path], key: str = "agent_type") -> Adapter:
    """The adapter of a name, from the first folder that has it, or of a path to such a file. `key`: what names it.

    Raises:
        BadConfig: there is none, or it is wrong; names file and key.
    """
    path = find(name_or_path, folders, key)
    document = toml.read(path)
    adapter = toml.convert(path, document, Adapter, hint="docs/agents.md has every key of an adapter")
    if adapter.protocol == "acp":
        adapter = adapted.completed(adapter)
    adapter.__dict__["path"] = path
    for key, why in _faults(adapter):
        raise BadConfig(f"{path}: {key}: {why}", hint="docs/agents.md has every key of an adapter")
    return adapter


def find(name_or_path: str, folders: Sequence[Path], key: str = "agent_type") -> Path:
    """The file of an adapter.

    Raises:
        BadConfig: there is no such file; says which ones there are.
    """
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        path = Path(name_or_path).expanduser().absolute()
        if path.is_file():
            return path
        raise BadConfig(f"{key}: there is no file {path}")
    if _NAME.fullmatch(name_or_path):
        for folder in folders:
            path = folder.absolute() / f"{name_or_path}.toml"
            if path.is_file():
                return path
    there_are = sorted({path.stem for folder in folders for path in folder.glob("*.toml")})
    places = " or ".join(str(folder) for folder in folders)
    raise BadConfig(
        f"{key}: no adapter {name_or_path!r} in {places}",
        hint=f"there are {', '.join(there_are)}; docs/agents.md says how to write one" if there_are else "",
    )


def _faults(adapter: Adapter) -> Iterator[tuple[str, str]]:
    """Key and fault of each value that has the right type but cannot work."""
    if adapter.protocol == "acp" and adapter.prompt != "stdin":
        yield "prompt", 'must be "stdin" with protocol = "acp", which carries the prompt itself'
    if adapter.protocol != "acp" and adapter.acp != Acp():
        yield "acp", 'needs protocol = "acp"'
    if not adapter.command[0]:
        yield "command", "the first word is the program, and must not be empty"
    if adapter.prompt == "argument" and not _uses(adapter.command, "prompt"):
        yield "command", 'has no {prompt}, though prompt = "argument"'
    if adapter.prompt != "argument" and _uses([*adapter.command, *adapter.environment.values()], "prompt"):
        yield "command", f'has {{prompt}}, though prompt = "{adapter.prompt}"; that needs prompt = "argument"'
    if adapter.prompt == "file" and not _uses(
        [*adapter.command, *adapter.environment.values()], "prompt_file"
    ):
        yield "command", 'has no {prompt_file}, though prompt = "file"'
    if f"SIG{adapter.stop_signal}" not in signal.Signals.__members__:
        yield "stop_signal", f'{adapter.stop_signal!r} is no signal; write "TERM" or "INT"'
    yield from _bad_names(adapter)
    for key, texts in _filled(adapter):
        for text in texts:
            more = placeholders.OF_MCP if key.startswith("mcp.") else frozenset[str]()
            for name in placeholders.names(text) - placeholders.KNOWN - more:
                yield key, f"unknown placeholder {{{name}}}; a plain {{{name}}} is written {{{{{name}}}}}"
    yield from _bad_patterns(adapter)
    yield from _bad_expressions(adapter.output)


def _uses(texts: Iterable[str], name: str) -> bool:
    return any(name in placeholders.names(text) for text in texts)


def _filled(adapter: Adapter) -> Iterator[tuple[str, Iterable[str]]]:
    """The values in which placeholders stand, with their keys."""
    yield "command", adapter.command
    yield "model_args", adapter.model_args
    yield "max_turns_args", adapter.max_turns_args
    yield "large_prompt", [adapter.large_prompt]
    yield "environment", adapter.environment.values()
    yield "progress", adapter.progress
    yield "output.source", [adapter.output.source]
    yield "output.usage_command", adapter.output.usage_command
    yield "mcp.file", [adapter.mcp.file]
    yield "mcp.args", adapter.mcp.args
    yield "mcp.environment", adapter.mcp.environment.values()


def _bad_names(adapter: Adapter) -> Iterator[tuple[str, str]]:
    named = {
        "config_dir_variable": [adapter.config_dir_variable] if adapter.config_dir_variable else [],
        "environment": adapter.environment,
        "mcp.environment": adapter.mcp.environment,
        "pass_environment": adapter.pass_environment,
    }
    for key, names in named.items():
        for name in names:
            if not _VARIABLE.fullmatch(name):
                yield key, f"{name!r} is no name of an environment variable"


def _bad_patterns(adapter: Adapter) -> Iterator[tuple[str, str]]:
    texts = adapter.failure
    patterns = {
        "failure.turn_limit": texts.turn_limit,
        "failure.quota": texts.quota,
        "failure.auth": texts.auth,
        "failure.resume_at": [texts.resume_at],
        "acp.failure_text": [adapter.acp.failure_text],
    }
    for key, values in patterns.items():
        for pattern in values:
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                yield key, f"{pattern!r} is no regular expression: {error}"
                continue
            if key == "failure.resume_at" and pattern and groups != 1:
                yield key, "must have exactly one group, around the time"


def _bad_expressions(output: Output) -> Iterator[tuple[str, str]]:
    import jmespath
    from jmespath.exceptions import JMESPathError

    for key, expression in output.expressions():
        if output.format == "text":
            yield f"output.{key}", 'needs output.format = "json" or "jsonl"'
            continue
        try:
            jmespath.compile(expression)
        except JMESPathError as error:
            first_line = str(error).splitlines()[0]
            yield f"output.{key}", f"{expression!r} is no JMESPath expression: {first_line}"
