"""The recorded deliveries, and variants of them."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from fordjent.deciding.event import Event, read

FOLDER = Path(__file__).parent / "forge" / "recorded" / "deliveries"


class Recorded(NamedTuple):
    """`document`: the JSON document, taken out of the form where it was sent in one."""

    number: int
    event_type: str
    document: dict[str, Any]

    def event(self) -> Event:
        return read(self.event_type, json.dumps(self.document).encode())

    def but(self, **values: Any) -> Recorded:
        """With other values at paths: `sender__login="eve"`, `issue__labels=[{"name": "ready"}]`."""
        document = copy.deepcopy(self.document)
        for path, value in values.items():
            *parents, last = path.split("__")
            place = document
            for parent in parents:
                place = place[parent]
            place[last] = value
        return self._replace(document=document)


@cache
def recorded() -> dict[int, Recorded]:
    """All of them by number, in the order in which they were sent."""
    return {found.number: found for found in map(_read, sorted(FOLDER.glob("*.body.json")))}


def _read(path: Path) -> Recorded:
    headers = json.loads(path.with_name(path.name.replace(".body.", ".headers.")).read_text("utf-8"))
    raw = path.read_text("utf-8")
    if raw.startswith("payload="):
        raw = parse_qs(raw)["payload"][0]
    return Recorded(int(path.name[:3]), headers["X-Forgejo-Event-Type"], json.loads(raw))
