"""config.toml: found, read, expanded and checked; both systems take their own tables from it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from harness.bounds import Bounds
from harness.errors import BadConfig, Usage
from harness.redaction import FINGERPRINT

T = TypeVar("T")

_VARIABLE = re.compile(r"\$(?:\$|\{(\w+)(?::-([^}]*))?\})")
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)(ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

Duration = Annotated[str, msgspec.Meta(pattern=f"^{_DURATION.pattern}$")]
"""A length of time as written in config.toml: "90s", "45m", "1h30m"."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of config.toml; unknown keys are refused."""


class AgentEnvironment(Table, frozen=True):
    """Variables that an agent gets: by name from ours, or set."""

    pass_: list[str] = msgspec.field(name="pass", default_factory=list)
    set: dict[str, str] = {}


class Sandbox(Table, frozen=True):
    """How an agent is confined (harness.sandbox), and how much of the machine it may take (harness.bounds).

    `max_memory_bytes` 0: three quarters of the machine's; `max_file_bytes`: of one file that it writes.
    """

    backend: Literal["auto", "bwrap", "none"] = "auto"
    writable: list[str] = []
    network: bool = True
    max_processes: Annotated[int, msgspec.Meta(ge=16)] = Bounds().processes
    max_memory_bytes: Annotated[int, msgspec.Meta(ge=0)] = Bounds().memory_bytes
    max_file_bytes: Annotated[int, msgspec.Meta(ge=1024 * 1024)] = Bounds().file_bytes

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.max_processes, self.max_memory_bytes, self.max_file_bytes)


class SecretScan(Table, frozen=True):
    """What is pushed though it looks like a secret (harness.redaction): `allow` has the fingerprints of findings."""

    allow: list[Annotated[str, msgspec.Meta(pattern=f"^{FINGERPRINT}$")]] = []


def seconds(duration: str) -> float:
    """Seconds of a `Duration`."""
    return sum(float(amount) * _SECONDS[unit] for amount, unit in _PART.findall(duration))


def given_seconds(option: str, text: str) -> float:
    """Seconds of a length of time on a command line; a bare number is seconds too.

    Raises:
        Usage: it is none; names the option.
    """
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not _DURATION.fullmatch(text):
        raise Usage(f"{option} {text!r} is no length of time", hint='like "300", "90s" or "5m"')
    return seconds(text)


def given_number(option: str, text: str) -> int:
    """A whole number on a command line.

    Raises:
        Usage: it is none; names the option.
    """
    try:
        return int(text)
    except ValueError as error:
        raise Usage(f"{option} {text!r} is no whole number") from error


def locate(given: str | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The path of config.toml: `--config`, $ENT_AGENT_CONFIG, ./config.toml, XDG's place.

    Raises:
        BadConfig: none of them is a file; names all places.
    """
    xdg = Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or "~").expanduser() / ".config")
    named = given or environ.get("ENT_AGENT_CONFIG")
    places = [Path(named).expanduser()] if named else [Path("config.toml"), xdg / "ent-agent/config.toml"]
    for place in places:
        if place.is_file():
            return place.absolute()
    raise BadConfig(
        f"no configuration: {' and '.join(str(place.absolute()) for place in places)} not found",
        hint="write one with `invoke init` (for Fordjent: docs/fordjent.md), or name it with --config",
    )


def read(path: Path) -> dict[str, Any]:
    """The document in `path` with ${VAR}, ${VAR:-default} and $$ still as they are.

    Raises:
        BadConfig: not readable, not UTF-8, or not TOML; names the line.
    """
    import tomli

    try:
        return tomli.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}", hint="see that this user may read it") from error
    except (UnicodeDecodeError, tomli.TOMLDecodeError) as error:
        raise BadConfig(f"{path}: {error}", hint="mend that line; TOML strings stand in quotes") from error


def take(path: Path, document: Mapping[str, Any], of: type[T], others: frozenset[str]) -> T:
    """The keys of one system as its config type; `others` are the top-level names of the other.

    Only the values that this system takes are expanded, so that the other's variables
    may be unset.

    Raises:
        BadConfig: an unknown key, a wrong type, an unset variable; names file and key.
    """
    mine = {key: value for key, value in document.items() if key not in others}
    return convert(path, expand(path, mine), of, hint="config.toml.example has every key")


def convert(path: Path, document: Mapping[str, Any], of: type[T], hint: str) -> T:
    """A document as a type.

    Raises:
        BadConfig: an unknown key or a wrong type; names file and key.
    """
    try:
        return msgspec.convert(document, of)
    except msgspec.ValidationError as error:
        raise BadConfig(f"{path}: {_say(_with_names(str(error), document, of))}", hint=hint) from error


@contextlib.contextmanager
def naming(path: Path, key: str = "") -> Iterator[None]:
    """Begin what a BadConfig says with the file, and with the key where it does not know it itself.

    Raises:
        BadConfig: as it was raised inside, with file and key.
    """
    try:
        yield
    except BadConfig as error:
        if str(path) in error.message:
            raise
        where = f"{path}: {key}: " if key else f"{path}: "
        raise BadConfig(f"{where}{error.message}", hint=error.hint, code=error.code) from error


def expand(path: Path, value: Any, key: str = "", environ: Mapping[str, str] = os.environ) -> Any:
    """${VAR}, ${VAR:-default} and $$ expanded in every string of `value`."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _variable(path, key, match, environ), value)
    if isinstance(value, list):
        return [expand(path, item, key, environ) for item in value]
    if isinstance(value, Mapping):
        return {
            name: expand(path, item, f"{key}.{name}".lstrip("."), environ) for name, item in value.items()
        }
    return value


def _variable(path: Path, key: str, match: re.Match[str], environ: Mapping[str, str]) -> str:
    name, default = match[1], match[2]
    if name is None:
        return "$"
    value = environ.get(name) or default
    if value is None:
        raise BadConfig(
            f"{path}: {key}: the variable {name} is not set",
            hint=f"export {name}, or write ${{{name}:-default}}; a plain $ is written $$",
        )
    return value


def _with_names(error: str, document: Mapping[str, Any], of: type) -> str:
    """msgspec's message with the names that it gives as `[...]`: those of tables that are named freely.

    It stops at the first of them that is wrong, so that one is found by leaving the others out.
    """
    place = error.rpartition(" - at `$")[2].rstrip("`")
    before, some, _ = place.partition("[...]")
    tables: Any = document
    for name in filter(None, before.split(".")):
        tables = tables.get(name) if isinstance(tables, Mapping) else None
    if not some or not isinstance(tables, Mapping):
        return error
    for name in tables:
        try:
            msgspec.convert(_only(document, [*filter(None, before.split("."))], name), of)
        except msgspec.ValidationError as again:
            if str(again) == error:
                return error.replace(f"{before}[...]", f"{before}.{name}", 1)
    return error


def _only(document: Mapping[str, Any], path: list[str], name: str) -> dict[str, Any]:
    """The document with no entry but `name` in the table at `path`."""
    if not path:
        return {name: document[name]}
    return {**document, path[0]: _only(document[path[0]], path[1:], name)}


def _say(error: str) -> str:
    """msgspec's message with the key's path first: `limits.agent_timeout: Expected …`."""
    text, _, place = error.partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    unknown = re.search(r"Object contains unknown field `(.+?)`", text)
    if unknown:
        return f"{place + '.' if place else ''}{unknown[1]}: unknown key"
    missing = re.search(r"Object missing required field `(.+?)`", text)
    if missing:
        return f"{place + '.' if place else ''}{missing[1]}: required, but not given"
    if f"^{FINGERPRINT}$" in text:
        text = "Expected a fingerprint, as the message that holds a push names it"
    elif "regex" in text:
        text = 'Expected a length of time like "90s", "45m" or "1h30m"'
    return f"{place}: {text}" if place else text
