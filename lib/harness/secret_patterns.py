"""What well-known secrets look like: few rules, each sure enough to hold a push for.

A rule's group 1, where it has one, is the secret itself; the rest of the match is context
that stays readable.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """`name` is what people are told; `holds_push` False: only taken out of texts."""

    name: str
    pattern: re.Pattern[bytes]
    holds_push: bool = True


def _rule(name: str, pattern: bytes, *, holds_push: bool = True) -> Rule:
    return Rule(name, re.compile(pattern), holds_push)


# Everything is bounded or starts where nothing of its own kind goes on before it: what an agent
# writes must not make the search slow.
_START = rb"(?<![A-Za-z0-9_-])"
_SCHEME = rb"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://"
_KEY_HEADER = rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"

RULES: tuple[Rule, ...] = (
    # The header alone stands in many manuals; with a line of key after it, it is a key.
    _rule(
        "private key",
        _KEY_HEADER
        + rb"(?:(?!-----)[\s\S]){0,400}?[A-Za-z0-9+/]{40}(?:[^-]*+)(?:-----END [A-Z0-9 ]{1,60}-----)?",
    ),
    _rule("AWS access key", rb"\b((?:AKIA|ASIA)(?![A-Z2-7]{0,16}EXAMPLE)[A-Z2-7]{16})\b"),
    _rule(
        "AWS secret key",
        rb"(?i:aws_?secret_?access_?key)[\"']?\s{0,9}[=:]\s{0,9}[\"']?"
        rb"(?![A-Za-z0-9/+]{0,40}EXAMPLE)([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    _rule("GitHub token", rb"\b(gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b"),
    _rule("GitLab token", _START + rb"(gl(?:pat|dt|rt|cbt|ptt|ft|oas|soat)-[A-Za-z0-9_-]{20,300})"),
    _rule(
        "Slack token",
        _START
        + rb"(xox[abeoprs]-(?=[A-Za-z-]{0,20}\d)[A-Za-z0-9-]{20,300}|xapp-\d-[A-Z0-9]{6,20}-\d+-[a-f0-9]{32,})",
    ),
    _rule(
        "Slack webhook", rb"https://hooks\.slack\.com/services/(T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,})"
    ),
    # OpenAI, Anthropic, OpenRouter and others that follow them; slugs like sk-learn-… have no such run.
    _rule(
        "model API key",
        _START
        + rb"(sk-(?:[a-z0-9]{2,10}-){0,3}(?=[A-Za-z_]{0,80}\d)(?=[\d_]{0,80}[A-Za-z])[A-Za-z0-9_]{20,}[A-Za-z0-9_-]*)",
    ),
    _rule("Google API key", _START + rb"(AIza[0-9A-Za-z_-]{35})(?![0-9A-Za-z_-])"),
    _rule("JSON web token", _START + rb"(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,})"),
    _rule(
        "password in a URL",
        _SCHEME + rb"[^\s/:@\"'<>$\{\}]{0,99}:(?=[^\s/@]{0,99}\d)(?=[^\s/@]{0,99}[A-Za-z])"
        rb"([^\s/@:\"'<>$\{\}*]{12,})@(?!(?:localhost|127\.|\[::1\]|[\w.-]{0,99}\bexample\b))",
    ),
    _rule("user in a URL", _SCHEME + rb"([^\s/:@\"'<>]{0,99}:[^\s/@\"'<>]+)@", holds_push=False),
    _rule("token in a URL", rb"\bhttps?://([A-Za-z0-9_-]{20,})@", holds_push=False),
    _rule(
        "authorization header",
        rb"(?i)\bauthorization:\s{0,9}\w{1,20}\s{1,9}([A-Za-z0-9._~+/=-]{8,})",
        holds_push=False,
    ),
)
