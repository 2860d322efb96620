"""The marker in what the bot writes on the forge: its own words are known again, by us and by people's eyes not seen.

    Done: see #7.

    ---
    *Written by Fordjent.*
    <!-- ford:acme/widget/issues/1:run-3:done -->
    <!-- ford -->

The marker counts where it is the last line and the author is the bot: a person who quotes or pastes
one, in the middle of their own text or under `>`, is a person. The line above it names the effect, so
that after a crash what was written is found instead of written again.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import quote

MARKER = "<!-- ford -->"
FOOTER = "---\n*Written by Fordjent.*"

_OURS = re.compile(r"<!--\s*ford(?::[^>]*)?\s*-->")
_EFFECT = re.compile(r"^<!-- ford:(\S+) -->\s*$", re.MULTILINE)


def mark(text: str, effect_id: str = "", *, footer: bool = True) -> str:
    """`text` as the bot may write it. Markers that it holds already are taken out: they would name other effects."""
    parts = [_without_markers(text), *([FOOTER] if footer else [])]
    lines = [f"<!-- ford:{_encoded(effect_id)} -->"] if effect_id else []
    return "\n\n".join(part for part in parts if part) + "\n" + "\n".join(["", *lines, MARKER])


def unmarked(text: str) -> str:
    """What `mark` was given, for a model or a person to read."""
    return _without_markers(text).removesuffix(FOOTER).strip()


def is_marked(text: str) -> bool:
    """Whether it ends as what we write ends."""
    lines = text.strip().splitlines()
    return bool(lines) and lines[-1].strip() == MARKER


def is_by_bot(text: str, author: str, bot_logins: Collection[str]) -> bool:
    """Whether the bot wrote it: its account (which a person may share) and its marker."""
    return author.lower() in {login.lower() for login in bot_logins} and is_marked(text)


def has_effect(text: str, effect_id: str) -> bool:
    """Whether it is what that effect wrote."""
    return is_marked(text) and _EFFECT.findall(text)[-1:] == [_encoded(effect_id)]


def _without_markers(text: str) -> str:
    before = ""
    while text != before:  # what is left may be one again: <!-- fo<!-- ford -->rd -->
        before, text = text, _OURS.sub("", text)
    return text.strip()


def _encoded(effect_id: str) -> str:
    """Without what would end an HTML comment, or a word."""
    return quote(effect_id, safe="/:@").replace("--", "-%2D")
