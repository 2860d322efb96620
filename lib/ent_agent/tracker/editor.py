"""A text from the user's editor, by entomologist's rules: $EDITOR is one program, with no arguments of its own."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import BadData


@contextmanager
def edited(before: str | None) -> Iterator[str]:
    """What the user makes of a text (None: of nothing); "" when it is given up.

    The file is kept, and its path told, when the text cannot be stored.

    Raises:
        BadData: there is no terminal, no such program, it failed, or left no UTF-8.
    """
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise BadData("stdin/stdout is not a terminal")
    folder = Path(tempfile.mkdtemp(prefix="ent-"))
    file = folder / "description"
    try:
        if before is not None:
            file.write_bytes(before.encode())
        _run(file)
        text = _read(file)
    except BaseException:
        _remove(folder, file)
        raise
    try:
        yield text
    except BaseException:
        print(f"the text is kept in {file}", file=sys.stderr)
        raise
    _remove(folder, file)


def _run(file: Path) -> None:
    program = os.environ.get("EDITOR", "vi")
    try:
        if not program:  # subprocess would look for a folder of PATH itself
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        exit_code = subprocess.run([program, file], check=False).returncode
    except OSError as error:
        raise BadData(f"{error.strerror} (os error {error.errno})") from error
    if exit_code != 0:
        print("stdout: \nstderr: ")
        raise BadData("Failed to run editor")


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise BadData("stream did not contain valid UTF-8") from error


def _remove(folder: Path, file: Path) -> None:
    for left in folder.iterdir():  # an editor's backup beside it
        left.unlink()
    folder.rmdir()
