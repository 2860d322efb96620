"""Secrets: taken out of every text that leaves us, and looked for in what is about to be pushed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from harness.secret_patterns import RULES, Rule

REDACTED = b"[redacted]"
SHORTEST = 8
"""A known value shorter than this is no secret that could be told from ordinary text."""
KNOWN = "known secret"
"""The rule for a secret of this machine: nothing that a person says lets it pass."""
FINGERPRINT = "[0-9a-f]{12}"
LISTED = 5

_SECRET_NAME = re.compile(
    r"(?i)(?:TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIALS?|(?:API|ACCESS|PRIVATE|AUTH|ENCRYPTION|SIGNING|DEPLOY)_?KEY)S?\d*$"
)


class Finding(NamedTuple):
    """Where a secret stands and which rule says so; never the secret. `fingerprint`: what lets it pass in
    config.toml, where it is none; a known secret has none."""

    rule: str
    line: int
    fingerprint: str = ""

    def __str__(self) -> str:
        return f"{self.rule} [fingerprint {self.fingerprint}]" if self.fingerprint else self.rule


class Redactor:
    """Knows the secrets of this machine exactly, and others by their looks."""

    def __init__(self, known: Iterable[str] = (), allowed: Iterable[str] = ()) -> None:
        self._known = sorted(set(_spellings(known)), key=lambda value: (-len(value), value))
        self._allowed = frozenset(allowed)

    def know(self, more: Iterable[str]) -> None:
        """Learn further secrets; the ones before stay."""
        known = {*self._known, *_spellings(more)}
        self._known = sorted(known, key=lambda value: (-len(value), value))

    def allow(self, fingerprints: Iterable[str]) -> None:
        """Let these findings, and no others, be pushed; texts are redacted as before."""
        self._allowed = frozenset(fingerprints)

    def redact(self, text: str) -> str:
        """`text` with [redacted] where secrets were."""
        data = self.without_known(text.encode("utf-8", "surrogateescape"))
        for rule in RULES:
            data = rule.pattern.sub(_without_secret, data)
        return data.decode("utf-8", "surrogateescape")

    def without_known(self, data: bytes) -> bytes:
        """`data` with [redacted] where it holds a secret of this machine."""
        for value in self._known:
            data = data.replace(value, REDACTED)
        return data

    def tail(self, text: str, characters: int) -> str:
        """The end of `text`: redacted first, since half a secret is not found any more."""
        redacted = self.redact(text)
        return redacted if len(redacted) <= characters else "…" + redacted[-characters:]

    def scan(self, data: bytes) -> list[Finding]:
        """What must not be pushed, in order of lines."""
        places = (data.find(value) for value in self._known)
        found = [(place, KNOWN, "") for place in places if place >= 0]
        for rule in RULES:
            for match in rule.pattern.finditer(data) if rule.holds_push else ():
                fingerprint = _fingerprint(rule, match)
                if fingerprint not in self._allowed:
                    found.append((match.start(), rule.name, fingerprint))
        return sorted(
            {Finding(rule, data.count(b"\n", 0, place) + 1, mark) for place, rule, mark in found},
            key=lambda finding: (finding.line, finding.rule, finding.fingerprint),
        )

    def objection(self, data: bytes) -> str:
        """Why it must not be pushed, for people: a known secret before all else; "": nothing is in the way."""
        found = self.scan(data)
        if any(finding.rule == KNOWN for finding in found):
            return KNOWN
        told = list(dict.fromkeys(str(finding) for finding in found))
        more = f" and {len(told) - LISTED} more" if len(told) > LISTED else ""
        return f"{', '.join(told[:LISTED])}{more}"


def known_secrets(
    environ: Mapping[str, str], names: Iterable[str] = (), values: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The secrets in an environment.

    Those are variables with a secret-looking name, those in `names` whatever they are
    called, and of `values` (settings) those with a secret-looking name.
    """
    chosen = set(names)
    for name, value in environ.items():
        if (name in chosen or is_secret_name(name)) and not Path(value).is_absolute():
            yield value
    yield from (value for name, value in (values or {}).items() if is_secret_name(name))


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for programs that need none of its secrets."""
    return {name: value for name, value in environ.items() if not is_secret_name(name)}


def key_bodies(folder: Path) -> Iterator[str]:
    """The bodies of the private key files in a folder."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix != ".pub" and path.is_file() and os.access(path, os.R_OK):
            data = path.read_bytes()[:65536]
            if b"PRIVATE KEY-----" in data[:200]:
                yield data.decode("ascii", "replace")


def is_secret_name(name: str) -> bool:
    """Whether a variable or setting of that name holds a secret (API_TOKEN, not TOKEN_FILE)."""
    return bool(_SECRET_NAME.search(name))


def _spellings(known: Iterable[str]) -> Iterator[bytes]:
    """The values as they may stand in a text: whole, line by line, and as part of a URL."""
    for value in known:
        lines = [line.strip() for line in value.splitlines() if not line.startswith("-----")]
        whole = [value.strip()] if len(lines) == 1 else []
        for part in [*whole, *(line for line in lines if len(line) >= 16)]:
            if len(part) >= SHORTEST:
                yield part.encode("utf-8", "surrogateescape")
                yield quote(part, safe="", errors="surrogateescape").encode("ascii")


def _fingerprint(rule: Rule, match: re.Match[bytes]) -> str:
    """Of what was found, wherever it stands; the value cannot be made of it."""
    value = match[1] if match.re.groups else match[0]
    return hashlib.sha256(rule.name.encode() + b"\0" + value).hexdigest()[:12]


def _without_secret(match: re.Match[bytes]) -> bytes:
    if not match.re.groups:
        return REDACTED
    start, end = (edge - match.start() for edge in match.span(1))
    return match[0][:start] + REDACTED + match[0][end:]
