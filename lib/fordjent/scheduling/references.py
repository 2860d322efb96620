"""What a text says that its issue depends on, and what it is a part of, in the forms that people write.

Depends on: #1, #2            depends on #3 and #4            Blocked by acme/widget#5
## Dependencies               Depends on:
- [ ] #6                      * the parser (#7)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fordjent.scheduling.plain import plain

LONGEST = 200_000
"""Characters of a text that are looked at; a forge takes no longer ones."""
LONGEST_LINE = 2_000
"""Characters of a line that are looked at."""
MOST = 100
"""Dependencies of one issue; what is beyond is no list that a person has written."""

_PHRASE = re.compile(
    r"(?<![\w#/-])"
    r"(?:depend(?:s|ent|ing)?[ \t-]+(?:up)?on|blocked[ \t]+(?:by|on)|dependenc(?:y|ies)(?=[ \t*_]*(?::|$)))"
    r"(?P<after>[ \t*_]*:?[ \t*_]*)",
    re.IGNORECASE | re.MULTILINE,
)
_NEGATED = re.compile(r"(?:\bnot|n't|n’t|\bno\s+longer|\bnever|\bnothing|\bnone)\s*\Z", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(?P<rest>.*)")
_BEFORE_PHRASE = re.compile(
    r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:\[[ xX]\]\s+)?[#*_\s]*(?:this\s+)?(?:issue\s+)?(?:is\s+)?\Z",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"(?:\s|[,;&+*_]|\b(?:and|or|both|the|also|on|by|issues?|prs?|pull\s+requests?|task|tasks)\b|\([^()\n]*\))*",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"[\w.-]+/[\w.-]+#\d{1,9}\b")
"""An issue of another repository: nobody here sees when it is done."""
_PARENT = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?[*_]*(?:Parent|Part of)[*_]*[ \t]*:?[*_]*[ \t]*(?P<rest>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)


def dependencies(text: str, repository: str) -> tuple[int, ...]:
    """Numbers in `repository` that the text names as what must be done first, each once, in its order."""
    lines = [line[:LONGEST_LINE] for line in plain(text[:LONGEST]).split("\n")]
    reference = _reference(repository)
    found: dict[int, None] = {}
    for place, line in enumerate(lines):
        for phrase in _PHRASE.finditer(line):
            if not _is_of_this_issue(line[: phrase.start()], reference):
                continue
            rest = line[phrase.end() :]
            numbers = _all(rest, reference) if ":" in phrase["after"] else _leading(rest, reference)
            if not rest.strip(" \t*_:") and _BEFORE_PHRASE.match(line[: phrase.start()]):
                numbers = list(_in_list(lines, place + 1, reference))
            found.update(dict.fromkeys(numbers))
    return tuple(found)[:MOST]


def parent(text: str, repository: str) -> int:
    """The number in a line `Parent: #7` (the last one); 0: there is none."""
    reference = _reference(repository)
    named = [_leading(match["rest"], reference) for match in _PARENT.finditer(plain(text[:LONGEST]))]
    return next((numbers[0] for numbers in reversed(named) if numbers), 0)


def _reference(repository: str) -> re.Pattern[str]:
    """#1, owner/name#1, or an address that ends in owner/name/issues/1."""
    name = re.escape(repository)
    return re.compile(
        rf"(?:(?<![\w/#&.-])(?:{name})?#|\bhttps?://[^\s()<>\[\]]{{1,300}}?/{name}/(?:issues|pulls)/)(\d{{1,9}})(?![\w-]|/\d)",
        re.IGNORECASE,
    )


def _is_of_this_issue(before: str, reference: re.Pattern[str]) -> bool:
    """Neither `does not depend on #1` nor `#2 depends on #1`."""
    said = before.rstrip(" \t*_")
    named = list(reference.finditer(said))
    return not _NEGATED.search(said) and not (named and named[-1].end() == len(said))


def _all(rest: str, reference: re.Pattern[str]) -> list[int]:
    return [number for match in reference.finditer(rest) if (number := int(match[1]))]


def _leading(rest: str, reference: re.Pattern[str]) -> list[int]:
    """Those that follow each other, with no other words between them."""
    numbers: list[int] = []
    at = 0
    while True:
        between = _BETWEEN.match(rest, at)
        assert between
        match = reference.match(rest, between.end())
        elsewhere = None if match else _ELSEWHERE.match(rest, between.end())
        if match:
            numbers.append(int(match[1]))
        elif elsewhere is None:
            return [number for number in numbers if number]
        at = (match or elsewhere).end()  # type: ignore[union-attr]


def _in_list(lines: list[str], start: int, reference: re.Pattern[str]) -> Iterator[int]:
    """Of each item the numbers that it begins with, else the first that it names."""
    for line in lines[start:]:
        item = _ITEM.fullmatch(line)
        if item:
            yield from _leading(item["rest"], reference) or _all(item["rest"], reference)[:1]
        elif line.strip() and not line.startswith((" ", "\t")):
            return
