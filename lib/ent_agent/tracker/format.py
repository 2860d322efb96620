"""The single values of a tracker: states, times, tags, texts, as entomologist's `ent` reads and writes them."""

from __future__ import annotations

from ent_agent.tracker.model import STATES, State
from ent_agent.tracker.times import Instant, display_time, exact_time, now, parse_time, write_time
from harness.errors import BadData

__all__ = [
    "DEFAULT_BRANCH",
    "README",
    "Instant",
    "decode",
    "display_time",
    "escape_tag",
    "exact_time",
    "now",
    "parse_state",
    "parse_time",
    "quote",
    "state_named",
    "trim",
    "unescape_tag",
    "write_time",
]

DEFAULT_BRANCH = "entomologist-data"
README = b"This branch is used by entomologist to track issues."

# Rust's char::is_whitespace (Unicode White_Space). str.strip() would also take U+001C to U+001F.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


def trim(text: str) -> str:
    """`text` without White_Space at both ends, as Rust's `str::trim`."""
    return text.strip(WHITE_SPACE)


def decode(data: bytes) -> str:
    """The text of a file.

    Raises:
        BadData: it is not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadData(f"not UTF-8 (byte {error.start})") from error


def parse_state(data: bytes) -> State:
    """The state in a file's content: trimmed, whatever its case.

    Raises:
        BadData: it is none of the six words.
    """
    return state_named(trim(decode(data)))


def state_named(word: str) -> State:
    """The state that a word on the command line means: any case, nothing around it.

    Raises:
        BadData: it is none of the six words.
    """
    lower = word.lower()
    if lower not in STATES:
        raise BadData("Failed to parse state")
    return lower


# ---- tags


def escape_tag(tag: str) -> str:
    """The file name of a tag."""
    return tag.replace(",", ",0").replace("/", ",1")


def unescape_tag(name: str) -> str:
    """The tag of a file name.

    Raises:
        BadData: a comma is not followed by 0 or 1.
    """
    first, *pieces = name.split(",")
    tag = first
    for piece in pieces:
        if not piece:
            raise BadData(f"invalid trailing escape character ',' in tag file {quote(name)}")
        if piece[0] not in "01":
            raise BadData(f"invalid escape character {quote(piece[0])} in tag file {quote(name)}")
        tag += ("," if piece[0] == "0" else "/") + piece[1:]
    return tag


def quote(text: str) -> str:
    """`text` in double quotes with escapes, as Rust shows a string."""
    plain = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
    return (
        '"'
        + "".join(
            plain.get(char) or (char if char.isprintable() else f"\\u{{{ord(char):x}}}") for char in text
        )
        + '"'
    )
