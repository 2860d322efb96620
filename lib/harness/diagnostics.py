"""What a step tells the person beside it: lines on stderr, never on stdout, where the records are."""

from __future__ import annotations

import sys
import unicodedata


def say(text: str) -> None:
    """Print lines on stderr, without the control characters that a file's name or a text may bring."""
    plain = "".join(c for c in text if c == "\n" or not unicodedata.category(c).startswith("C"))
    sys.stderr.buffer.write(plain.encode("utf-8", "replace") + b"\n")
    sys.stderr.buffer.flush()
