"""Markdown without what is only shown: code, quotes, comments, what is struck out."""

from __future__ import annotations

import re

_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})([^\n]*)")
_QUOTE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*>")
_STRUCK = re.compile(r"~~[^~\n]+~~")
_TICKS = re.compile(r"`+")
_MARK = re.compile("`|<!--")
_COMMENT, _COMMENT_END = "<!--", "-->"


def plain(text: str) -> str:
    """The lines that an author says, each in its place; what is not said is left out of them.

    A fence or comment that nobody closes goes on to the end, as the forge shows it.
    """
    kept: list[str] = []
    fence = ""
    in_comment = False
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if fence:
            fence = "" if _closes(line, fence) else fence
            kept.append("")
            continue
        if not in_comment:
            opening = _FENCE.match(line)
            if opening and not (opening[1][0] == "`" and "`" in opening[2]):
                fence = opening[1]
            if fence or _QUOTE.match(line):
                kept.append("")
                continue
        said, in_comment = _said(line, in_comment)
        kept.append(said)
    return _STRUCK.sub(" ", _without_spans("\n".join(kept)))


def _closes(line: str, fence: str) -> bool:
    word = line.strip()
    return len(word) >= len(fence) and set(word) == {fence[0]}


def _said(line: str, in_comment: bool) -> tuple[str, bool]:
    """A line without comments and code, and whether a comment goes on after it."""
    parts: list[str] = []
    at = 0
    while at < len(line):
        if in_comment:
            end = line.find(_COMMENT_END, at)
            if end < 0:
                return "".join(parts), True
            at, in_comment = end + len(_COMMENT_END), False
        elif line.startswith(_COMMENT, at):
            at, in_comment = at + len(_COMMENT), True
        elif line[at] == "`":
            at = _after_code(line, at, parts)
        else:
            mark = _MARK.search(line, at)
            following = mark.start() if mark else len(line)
            parts.append(line[at:following])
            at = following
    return "".join(parts), in_comment


def _after_code(line: str, at: int, parts: list[str]) -> int:
    """Where the code span that begins at `at` ends; where none ends in this line, its ticks are kept."""
    ticks = _TICKS.match(line, at)
    assert ticks
    for closing in _TICKS.finditer(line, ticks.end()):
        if len(closing[0]) == len(ticks[0]):
            parts.append(" ")
            return closing.end()
    parts.append(ticks[0])
    return ticks.end()


def _without_spans(text: str) -> str:
    """Without code that goes over the end of a line, within a paragraph."""
    return "\n\n".join(_without_span(paragraph) for paragraph in text.split("\n\n"))


def _without_span(paragraph: str) -> str:
    runs = list(_TICKS.finditer(paragraph))
    open_runs: dict[int, int] = {}
    cut: list[tuple[int, int]] = []
    last = -1
    for place in reversed(range(len(runs))):  # to each run the next one of its length
        length = len(runs[place][0])
        open_runs[place], open_runs[-length - 1] = open_runs.get(-length - 1, -1), place
    for place, run in enumerate(runs):
        closing = open_runs[place]
        if place > last and closing >= 0:
            cut.append((run.start(), runs[closing].end()))
            last = closing
    for start, end in reversed(cut):
        blank = "".join("\n" if character == "\n" else " " for character in paragraph[start:end])
        paragraph = paragraph[:start] + blank + paragraph[end:]
    return paragraph
