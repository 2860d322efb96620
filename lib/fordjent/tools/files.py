"""read_file, write_file and edit_file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Annotated

from msgspec import Meta

from fordjent import threads
from fordjent.tools import paths
from fordjent.tools.output import CAP
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness.errors import BadData
from harness.redaction import Redactor

LONGEST_LINE = 2_000
"""Characters of a line that are shown."""
LOOKED_AT = 8_192
"""Bytes at the beginning in which a NUL means that a file is binary."""
READ_BYTES = 512 * 1024 * 1024
LARGEST_EDIT = 16 * 1024 * 1024
NAMES_SHOWN = 500

Name = Annotated[str, Meta(description="Path of the file below the worktree", min_length=1)]


class ReadFile(Arguments, frozen=True):
    """Read a text file of the worktree, with line numbers. A folder's entries are listed.

    Long files come in pages: go on with `offset`.
    """

    path: Name
    offset: Annotated[int, Meta(description="First line to show, from 1", ge=0)] = 1
    limit: Annotated[int, Meta(description="At most so many lines", ge=1)] = 2_000


class WriteFile(Arguments, frozen=True):
    """Write a whole file in the worktree: make it, or replace what it holds. Folders are made as needed.

    To change a part of a file, use edit_file.
    """

    path: Name
    content: Annotated[str, Meta(description="All that the file is to hold")]


class EditFile(Arguments, frozen=True):
    """Replace one piece of text in a file. `old_text` must stand there exactly once, to the last blank."""

    path: Name
    old_text: Annotated[
        str, Meta(description="Text as it stands in the file, without line numbers", min_length=1)
    ]
    new_text: Annotated[str, Meta(description="What is to stand in its place")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence, however many")] = False


async def read_file(scope: Scope, asked: ReadFile) -> str:
    return await threads.run(_read, scope, asked)


async def write_file(scope: Scope, asked: WriteFile) -> Outcome:
    data = _encoded(asked.content)
    new = await threads.run(paths.replace, scope.ground.folder, asked.path, data)
    lines = asked.content.count("\n") + (not asked.content.endswith("\n") and bool(asked.content))
    return Outcome(
        f"{'made' if new else 'replaced'} {asked.path}: {lines} lines, {len(data)} bytes", changed=True
    )


async def edit_file(scope: Scope, asked: EditFile) -> Outcome:
    return await threads.run(_edit, scope, asked)


TOOLS = (
    Tool("read_file", ReadFile, read_file),
    Tool("write_file", WriteFile, write_file),
    Tool("edit_file", EditFile, edit_file, again=False),
)


def _read(scope: Scope, asked: ReadFile) -> str:
    folder = scope.ground.folder
    if paths.is_folder(folder, asked.path):
        names = paths.listing(folder, asked.path)
        more = f"\n[… {len(names) - NAMES_SHOWN} more]" if len(names) > NAMES_SHOWN else ""
        return f"{asked.path} is a folder:\n" + "\n".join(names[:NAMES_SHOWN]) + more
    with paths.reading(folder, asked.path) as file:
        size = os.fstat(file.fileno()).st_size
        if b"\0" in file.read(LOOKED_AT):
            return f"{asked.path} is a binary file of {size} bytes"
        file.seek(0)
        if not size:
            return f"{asked.path} is empty"
        return _page(file, max(asked.offset, 1), asked.limit, size, scope.redactor)


def _page(file: IO[bytes], offset: int, limit: int, size: int, redactor: Redactor) -> str:
    """The lines from `offset` on that fit, and what there is besides."""
    lines: list[str] = []
    room = CAP * 9 // 10
    number, left = 0, ""
    for number, line in enumerate(_lines(file, redactor), 1):
        if number < offset:
            continue
        room -= len(line) + 8
        if len(lines) == limit or room < 0:
            left = f"\n[… go on with offset {number}; the file has {size} bytes]"
            break
        lines.append(line)
    if not lines:
        return f"the file has {number} lines only"
    shown = redactor.redact("\n".join(lines)).split("\n")  # before numbers stand in the middle of a key
    if len(shown) != len(lines):
        left += "\n[a secret was taken out: the numbers after it are too low]"
    return "\n".join(f"{at:6}\t{line}" for at, line in enumerate(shown, offset)) + left


def _lines(file: IO[bytes], redactor: Redactor) -> Iterator[str]:
    """The lines as text, without their ends; of a long one the beginning, redacted before it is cut."""
    left = READ_BYTES
    while left > 0 and (line := file.readline(LONGEST_LINE * 4)):
        more = 0
        while not line.endswith(b"\n") and left > 0 and (rest := file.readline(LOOKED_AT)):
            more += len(rest)
            left -= len(rest)
            if rest.endswith(b"\n"):
                break
        left -= len(line)
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        cut = len(text) > LONGEST_LINE or more > 1
        yield f"{redactor.redact(text)[:LONGEST_LINE]} [… this line is longer]" if cut else text


def _edit(scope: Scope, asked: EditFile) -> Outcome:
    folder = scope.ground.folder
    with paths.reading(folder, asked.path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST_EDIT:
            raise BadData(f"{asked.path} is too large to be edited so", hint="use bash")
        data = file.read()
    old, new = _encoded(asked.old_text), _encoded(asked.new_text)
    if old == new:
        raise BadData("old_text and new_text are the same")
    found = data.count(old)
    if found == 0:
        raise BadData(f"old_text does not stand in {asked.path}", hint=_why_not(data, old))
    if found > 1 and not asked.replace_all:
        raise BadData(
            f"old_text stands in {asked.path} {found} times",
            hint="give more of the text around it, or replace_all",
        )
    paths.replace(folder, asked.path, data.replace(old, new))
    times = "once" if found == 1 else f"{found} times"
    return Outcome(f"replaced {times} in {asked.path}", changed=True)


def _why_not(data: bytes, old: bytes) -> str:
    if b"\r\n" in data and data.replace(b"\r\n", b"\n").count(old.replace(b"\r\n", b"\n")):
        return "the lines of that file end with CR LF: give old_text and new_text with \\r\\n"
    if b"[redacted]" in old:
        return "where read_file shows [redacted] the file holds something else; leave that part out"
    if b" ".join(old.split()) in b" ".join(data.split()):
        return "its blanks or line ends are others; read that part again"
    return "read the file again: it is matched to the last blank"


def _encoded(text: str) -> bytes:
    """
    Raises:
        BadData: it has halves of characters (lone surrogates).
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadData(f"the text is no Unicode: {error.reason}") from error
