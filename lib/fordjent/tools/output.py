"""What a tool says, made fit for a model: secrets taken out first, then the middle left out where it is long."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness import cutting
from harness.redaction import Redactor

CAP = 30_000
"""Characters of one result."""
MARGIN = 8_192
"""No secret is longer. Where a text was cut before it was redacted, so much beside the cut is not shown."""

_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def fit(text: str, redactor: Redactor, cap: int = CAP) -> str:
    """`text` for a model: redacted, then at most about `cap` characters, beginning and end."""
    return cut(_shown(redactor.redact(text)), cap)


def fit_parts(head: str, tail: str, redactor: Redactor, left_out: int, cap: int = CAP) -> str:
    """The same of a text of whose middle `left_out` bytes are not there; each part is redacted by itself."""
    shown_head = _shown(redactor.redact(head))[:-MARGIN]
    shown_tail = _shown(redactor.redact(tail))[MARGIN:]
    first, last = _shares(cap)
    more = len(shown_head[first:]) + len(shown_tail[:-last]) + 2 * MARGIN
    return f"{shown_head[:first]}\n[… about {left_out + more} characters are left out here …]\n{shown_tail[-last:]}"


def cut(text: str, cap: int = CAP) -> str:
    """Beginning and end of a text that is longer than `cap`, with a notice between."""
    if len(text) <= cap:
        return text
    first, last = _shares(cap)
    left_out = len(text) - first - last
    return f"{text[:first]}\n[… {left_out} characters are left out here …]\n{text[-last:]}"


def cut_whole(text: str, cap: int = CAP) -> str:
    """The same of a text in which there may be secrets still: none of them is cut in two."""
    if len(text) <= cap:
        return text
    first, last = _shares(cap)
    head, tail = cutting.beginning(text, first), cutting.ending(text, last)
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out} characters are left out here …]\n{tail}"


def listed(lines: Iterable[str], nothing: str) -> str:
    """One line each; `nothing` where there is none."""
    return "\n".join(lines) or nothing


def _shares(cap: int) -> tuple[int, int]:
    """More of the end: that is where failures stand."""
    first = cap * 2 // 5
    return first, cap - first


def _shown(text: str) -> str:
    """Without what no endpoint takes, or a terminal would act on."""
    return _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", text)
