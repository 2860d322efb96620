"""Calls of tools as a person reads them: a command as one, a change of a file as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

SHOWN_LINES = 400
LONGEST_LINE = 2000

Kind = Literal["", "added", "removed", "place"]


class Line(NamedTuple):
    kind: Kind
    text: str


class Shown(NamedTuple):
    """`about`: a path, or what else says the most in one line. `lines`: of a diff, or plain."""

    name: str
    about: str
    lines: list[Line]
    is_diff: bool = False


def shown(name: str, arguments: str) -> Shown:
    """Of a call as the model wrote it, which may be anything; redacted before."""
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, ValueError):
        given = None
    if not isinstance(given, dict):
        return Shown(name, "", _plain(arguments.splitlines()))
    path = str(given.get("path", ""))
    if name == "edit_file":
        old, new = (str(given.get(field, "")).splitlines() for field in ("old_text", "new_text"))
        changes = list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]
        return Shown(name, path, _diff(changes), is_diff=True)
    if name == "write_file":
        return Shown(
            name, path, _diff(f"+{line}" for line in str(given.get("content", "")).splitlines()), is_diff=True
        )
    if name == "bash":
        command = str(given.pop("command", ""))
        rest = _fields(given)
        return Shown(name, "", _plain([*(f"$ {line}" for line in command.splitlines()), *rest]))
    if name == "git" and isinstance(given.get("args"), list):
        return Shown(name, " ".join(map(str, given["args"])), [])
    return Shown(name, path, _plain(_fields({key: value for key, value in given.items() if key != "path"})))


def diff_of(text: str) -> list[Line] | None:
    """The lines of a diff; None: it is none."""
    begins = text.lstrip().startswith(("diff --git ", "--- "))
    return _diff(text.splitlines()) if begins and "\n@@ " in text else None


def lines_of(text: str) -> list[Line]:
    """Of a whole diff, however long."""
    return _lines(text.splitlines())


def _diff(lines: Iterable[str]) -> list[Line]:
    return _cut(_lines(lines))


def _lines(lines: Iterable[str]) -> list[Line]:
    kinds: dict[str, Kind] = {"+": "added", "-": "removed", "@": "place"}
    heads = ("+++ ", "--- ", "diff --git ", "index ")
    return [Line("place" if line.startswith(heads) else kinds.get(line[:1], ""), line) for line in lines]


def _plain(lines: Iterable[str]) -> list[Line]:
    return _cut(Line("", line) for line in lines)


def _cut(lines: Iterable[Line]) -> list[Line]:
    found = [
        Line(kind, text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…") for kind, text in lines
    ]
    left = len(found) - SHOWN_LINES
    return found if left <= 0 else [*found[:SHOWN_LINES], Line("place", f"… {left:,} more lines")]


def _fields(given: dict[str, object]) -> list[str]:
    lines: list[str] = []
    for key, value in given.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        lines += (
            [f"{key}:", *(f"  {line}" for line in text.splitlines())] if "\n" in text else [f"{key}: {text}"]
        )
    return lines
