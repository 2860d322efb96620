"""What was recorded of a real forge, and how answers and deliveries are compared with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.forge.swagger import RECORDED
from tests.support.hook_receiver import Received

Json = dict[str, Any]

# Keys whose values are ids, times and addresses of one server.
OF_ONE_SERVER = re.compile(
    r"(^|\.)(\w*id|\w*sha|\w*_at|\w*url|created|date|timestamp|merge_base|last_commit_when|size|git|self|html)$"
)


def transcript() -> list[Json]:
    return list(json.loads((RECORDED / "api-transcript.json").read_text("utf-8")))


def deliveries() -> list[Received]:
    found = []
    for path in sorted((RECORDED / "deliveries").glob("*.body.json")):
        headers = json.loads(Path(str(path).replace(".body.", ".headers.")).read_text("utf-8"))
        found.append(Received.read(headers, path.read_bytes()))
    return found


def shape_differences(recorded: Any, given: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Keys that only one side has, and values of another JSON type."""
    if type(recorded) is not type(given):
        yield key, f"{given!r:.120} for {recorded!r:.120}"
    elif isinstance(recorded, dict):
        for name in sorted(set(recorded) ^ set(given)):
            yield f"{key}.{name}", "only recorded" if name in recorded else "not recorded"
        for name in recorded.keys() & given.keys():
            yield from shape_differences(recorded[name], given[name], f"{key}.{name}")
    elif isinstance(recorded, list):
        if len(recorded) != len(given):
            yield key, f"{len(given)} for {len(recorded)}: {given!r:.200}"
        for one, other in zip(recorded, given, strict=False):
            yield from shape_differences(one, other, f"{key}[]")


def value_differences(recorded: Any, given: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Values that are not ids, times or addresses, and yet not equal."""
    if isinstance(recorded, dict) and isinstance(given, dict):
        for name in recorded.keys() & given.keys():
            yield from value_differences(recorded[name], given[name], f"{key}.{name}")
    elif isinstance(recorded, list) and isinstance(given, list):
        for one, other in zip(recorded, given, strict=False):
            yield from value_differences(one, other, f"{key}[]")
    elif recorded != given and not OF_ONE_SERVER.search(key):
        yield key, f"{given!r:.120} for {recorded!r:.120}"


def plain(refusal: Json) -> str:
    """What the forge said, without the numbers and the port of one server."""
    return re.sub(
        r"[0-9]+", "N", json.dumps([refusal.get("message"), refusal.get("errors"), refusal.get("url")])
    )
