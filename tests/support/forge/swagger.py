"""Which paths, query parameters and body fields exist: from the recorded API description."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded")


@dataclass(frozen=True)
class Operation:
    template: str
    method: str
    arguments: dict[str, str]
    query: Mapping[str, Any]
    body: str | None

    def strange(self, query: Mapping[str, str], body: object) -> str | None:
        """What a request asks for that does not exist; None when all of it does."""
        unknown = sorted(set(query) - set(self.query))
        if unknown:
            return f"{self.method} {self.template} has no query parameter {', '.join(unknown)}"
        for name, value in query.items():
            if isinstance(self.query.get(name), dict) and value not in self.query[name]["enum"]:
                return f"{self.method} {self.template}: {name} cannot be {value!r}"
        return strange_body(self.body, body, f"{self.method} {self.template}")


@cache
def description() -> dict[str, Any]:
    return json.loads((RECORDED / "swagger.json").read_text("utf-8"))


@cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    found = []
    for template in description()["paths"]:
        pattern = re.sub(r"\\\{(\w+)\\\}", _argument, re.escape(template))
        found.append((re.compile(pattern), template))
    # Literal segments win over arguments: /repos/issues/search over /repos/{owner}/{repo}.
    return sorted(found, key=lambda item: (item[1].count("{"), -len(item[1])))


def _argument(match: re.Match[str]) -> str:
    name = match[1]
    wide = name in ("filepath", "ref", "basehead")
    digits = name == "index"
    return f"(?P<{name}>{'.+' if wide else '[0-9]+' if digits else '[^/]+'})"


def find(method: str, path: str) -> Operation | None:
    """The operation of a path whose encoded slashes are still encoded. An argument may hold `%2F`."""
    for pattern, template in _templates():
        match = pattern.fullmatch(path)
        known = description()["paths"][template].get(method.lower()) if match else None
        if match and known is not None:
            return Operation(template, method, match.groupdict(), known.get("query", {}), known.get("body"))
    return None


def strange_body(definition: str | None, body: object, where: str) -> str | None:
    """A field that the definition does not have, or a wrong kind of value."""
    if body is None:
        return None
    if definition is None:
        return f"{where} takes no body"
    known = description()["definitions"].get(definition, {}).get("properties")
    if not isinstance(body, dict) or not known:
        return None
    for name, value in body.items():
        if name not in known:
            return f"{where}: {definition} has no field {name}"
        inner = known[name]
        if isinstance(inner, list) and isinstance(value, list) and isinstance(inner[0], str):
            for item in value:
                if isinstance(item, dict) and (said := strange_body(inner[0], item, where)):
                    return said
    return None
