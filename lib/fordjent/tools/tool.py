"""A tool: what it is called with, what it does, and the JSON Schema that a model is shown of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from fordjent.models.messages import ToolSpec
from fordjent.tools.scope import Scope
from harness.errors import BadData

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every tool's arguments are a kind of: unknown ones are refused."""


class Outcome(msgspec.Struct, frozen=True):
    """What a tool did. `text` is raw: it is redacted and cut on its way to the model."""

    text: str
    failed: bool = False
    ends: bool = False
    """The run is over with it."""
    changed: bool = False
    """A file, a commit or something on the forge is not what it was."""


@dataclass(frozen=True)
class Tool:
    """`takes` is a kind of Arguments whose docstring says what the tool does.

    `again`: a call that a crash cut off can be made anew: it only looks, or finds what it did.
    `secret`: arguments that stand in no record.
    """

    name: str
    takes: type[Arguments]
    does: Callable[[Scope, Any], Awaitable[Outcome | str]]
    again: bool = True
    secret: frozenset[str] = frozenset()

    @cached_property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, inspect.cleandoc(self.takes.__doc__ or ""), schema(self.takes))

    def read(self, arguments: str) -> Arguments:
        """The arguments as a model wrote them; numbers may stand in quotes.

        Raises:
            BadData: not JSON, or not what the tool takes; names the argument.
        """
        try:
            return msgspec.json.decode(arguments.strip() or "{}", type=self.takes, strict=False)
        except msgspec.ValidationError as error:
            wanted = ", ".join(self._wanted())
            raise BadData(f"{self.name}: {error}", hint=f"it takes {wanted or 'no arguments'}") from error
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise BadData(f"{self.name}: the arguments are not JSON: {error}") from error

    def without_secrets(self, arguments: str) -> str:
        """The arguments for a record."""
        if not self.secret:
            return arguments
        try:
            document = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return "[not JSON]"
        if not isinstance(document, dict):
            return "[no object]"
        kept = {name: "[redacted]" if name in self.secret else value for name, value in document.items()}
        return msgspec.json.encode(kept).decode()

    def _wanted(self) -> list[str]:
        return [
            f"{name} ({found.get('type', 'value')}{'' if name in self.spec.parameters['required'] else ', optional'})"
            for name, found in self.spec.parameters["properties"].items()
        ]


def schema(of: type[Arguments]) -> dict[str, Any]:
    """JSON Schema of an object: no references, no unknown properties, each property described."""
    document = msgspec.json.schema(of)
    definitions = document.get("$defs", {})

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(each) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return plain(definitions[node["$ref"].rsplit("/", 1)[-1]])
        found = {
            name: plain(value)
            for name, value in node.items()
            if not (name == "title" and isinstance(value, str))  # the type's name, not an argument's
        }
        if "enum" in found and "type" not in found:
            found["type"] = "string"  # some endpoints ask for it
        return found

    found = plain({name: value for name, value in document.items() if name != "$defs"})
    assert isinstance(found, dict)
    found.pop("description", None)
    found.setdefault("required", [])
    return found


def check(tool: Tool) -> None:
    """
    Raises:
        ValueError: a model could not be offered the tool; a bug of ours.
    """
    spec = tool.spec
    if not NAME.fullmatch(spec.name) or not spec.description:
        raise ValueError(f"{spec.name}: no name, or no description")
    if spec.parameters.get("type") != "object" or spec.parameters.get("additionalProperties") is not False:
        raise ValueError(f"{spec.name}: its arguments are no closed object")
    for name, found in spec.parameters["properties"].items():
        if "description" not in found or "type" not in found:
            raise ValueError(f"{spec.name}.{name}: no description, or no type")
    if not tool.secret <= set(spec.parameters["properties"]):
        raise ValueError(f"{spec.name}: its secrets are not among its arguments")
