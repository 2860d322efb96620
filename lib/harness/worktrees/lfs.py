"""Git LFS, as far as the loop knows it: files stay the pointers that they are in git.

What is pushed is git's objects alone. So a pointer that origin does not have yet would
point nowhere for everybody else, and a file that was fetched over its pointer is no change.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""How a pointer begins (git-lfs, docs/spec.md)."""

POINTER_BYTES = 1024
"""A pointer is shorter than this."""

NOT_UPLOADED = "LFS file, which the loop does not upload"


def is_pointer(data: bytes) -> bool:
    return data.startswith(POINTER) and len(data) < POINTER_BYTES


def is_content_of(path: Path, pointer: bytes) -> bool:
    """Whether a file is what the pointer stands for."""
    named = re.search(rb"^oid sha256:([0-9a-f]{64})$", pointer, re.MULTILINE)
    if not named or path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest().encode() == named[1]
