"""Files that are there whole or not at all, also after kill -9 and power cut."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def write_bytes(path: Path, data: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Replace `path` by `data`: temporary file beside it, fsync, rename, fsync of the folder.

    Not `durable`: without the fsyncs, for what may be lost in a power cut, as a cache may.
    """
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        Path(temporary).rename(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_json(path: Path, value: Any, mode: int = 0o600) -> None:
    """`write_bytes` of anything that msgspec can encode, a line end after it."""
    import msgspec

    write_bytes(path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n", mode)


def read_json(path: Path, of: type[T], default: T) -> T:
    """The value of type `of` in `path`; `default` when it is missing, empty or half-written."""
    import msgspec

    try:
        return msgspec.json.decode(path.read_bytes(), type=of)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return default


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
