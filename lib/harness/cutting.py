"""Texts cut between words: half a secret would not be recognised any more by who takes secrets out later."""

from __future__ import annotations

import re

LONGEST_WORD = 8_192
"""No secret is longer. A longer run of characters is cut in its middle."""

_BETWEEN = re.compile(r"[^\x21-\x7e]|[\"'`,;<>|(){}\[\]]")
"""What no secret holds: anything but printable ASCII, and brackets and quotes around one."""


def beginning(text: str, characters: int) -> str:
    """At most so many characters from the start, and no part of a word that goes on."""
    if len(text) <= characters or _BETWEEN.match(text[characters]):
        return text[:characters]
    head = text[:characters]
    gaps = [match.end() for match in _BETWEEN.finditer(head, max(0, characters - LONGEST_WORD))]
    if gaps:
        return head[: gaps[-1]]
    return "" if characters <= LONGEST_WORD else head


def ending(text: str, characters: int) -> str:
    """At most so many characters of the end, and no part of a word that began before."""
    start = len(text) - characters
    if start <= 0 or _BETWEEN.match(text[start - 1]):
        return text[max(0, start) :]
    gap = _BETWEEN.search(text, start, start + LONGEST_WORD)
    if gap:
        return text[gap.start() :]
    return "" if characters <= LONGEST_WORD else text[start:]
