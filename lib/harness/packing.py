"""Many new objects in one go: a pack made here, unpacked by git (one process instead of one an object)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator

_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}


def object_id(kind: str, data: bytes, oid_bytes: int = 20) -> str:
    """The id that git gives to an object; `oid_bytes` is 32 in a SHA-256 repository."""
    return _digest(b"%s %d\0" % (kind.encode(), len(data)) + data, oid_bytes).hex()


def pack(objects: Iterable[tuple[str, bytes]], oid_bytes: int = 20) -> bytes:
    """The objects (kind, content) as a pack without deltas (gitformat-pack(5))."""
    entries = [part for kind, data in objects for part in (_header(kind, len(data)), zlib.compress(data, 1))]
    body = b"PACK" + (2).to_bytes(4, "big") + (len(entries) // 2).to_bytes(4, "big") + b"".join(entries)
    return body + _digest(body, oid_bytes)


def _header(kind: str, size: int) -> bytes:
    """Kind and size, seven bits a byte after the first four."""
    return bytes(_header_bytes(_KINDS[kind], size))


def _header_bytes(kind: int, size: int) -> Iterator[int]:
    low, rest = size & 15, size >> 4
    byte = kind << 4 | low
    while rest:
        yield byte | 128
        byte, rest = rest & 127, rest >> 7
    yield byte


def _digest(data: bytes, oid_bytes: int) -> bytes:
    return (hashlib.sha256 if oid_bytes == 32 else hashlib.sha1)(data).digest()
