"""Which paths, query parameters and body fields exist, and of what kind: from the recorded API description."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded")
KINDS: dict[str, tuple[type, ...]] = {
    "integer": (int,), "string": (str,), "boolean": (bool,), "date-time": (str,),
}  # fmt: skip


@dataclass(frozen=True)
class Operation:
    template: str
    method: str
    arguments: dict[str, str]
    query: Mapping[str, Any]
    body: str | None

    def strange(self, query: Mapping[str, str], body: object) -> str | None:
        """What a request asks for that does not exist; None when all of it does."""
        where = f"{self.method} {self.template}"
        for name, value in query.items():
            if name not in self.query:
                return f"{where} has no query parameter {name}"
            if not _fits_query(self.query[name], value):
                return f"{where}: {name} cannot be {value!r}"
        if not body:
            return None
        return f"{where} takes no body" if self.body is None else strange_value(self.body, body, where)


@cache
def description() -> dict[str, Any]:
    return dict(json.loads((RECORDED / "swagger.json").read_text("utf-8")))


def find(method: str, path: str) -> Operation | None:
    """The operation of a path whose encoded slashes are still encoded. An argument may hold `%2F`."""
    for pattern, template in _templates():
        match = pattern.fullmatch(path)
        known = description()["paths"][template].get(method.lower()) if match else None
        if match and known is not None:
            return Operation(template, method, match.groupdict(), known.get("query", {}), known.get("body"))
    return None


def strange_value(known: Any, value: Any, where: str) -> str | None:
    """A field that the definition does not have, or a value of another kind; null fits everything."""
    if value is None or known == "object":
        return None
    if isinstance(known, list):
        if not isinstance(value, list):
            return f"{where} is not a list"
        said = (strange_value(known[0], one, where) for one in value)
        return next((one for one in said if one), None)
    if isinstance(known, str) and known in KINDS:
        fits = isinstance(value, KINDS[known]) and (known == "boolean" or not isinstance(value, bool))
        return None if fits else f"{where} cannot be {value!r}: it is a {known}"
    fields = description()["definitions"].get(known, {}).get("properties") if isinstance(known, str) else None
    if not fields or not isinstance(value, dict):
        return None
    for name, inner in value.items():
        if name not in fields:
            return f"{where}: {known} has no field {name}"
        if said_of_inner := strange_value(fields[name], inner, f"{where}: {name}"):
            return said_of_inner
    return None


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
    return f"(?P<{name}>{'.+' if wide else '[0-9]+' if name == 'index' else '[^/]+'})"


def _fits_query(known: Any, value: str) -> bool:
    if isinstance(known, dict):
        return value in known["enum"]
    if known == "integer":
        return value.isdigit()
    if known == "boolean":
        return value in ("true", "false", "1", "0")
    if known == "date-time":
        return when(value) is not None
    return True


def when(value: str) -> datetime | None:
    """RFC 3339 with its zone; a plus sign that was not encoded arrives as a space and is none."""
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return read if read.tzinfo and " " not in value else None
