"""What origin has, in one exchange: so that a look which finds nothing new costs no fetch beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ent_agent.config import Config
from ent_agent.repositories import origin
from ent_agent.repositories.repositories import REMOTE, REMOTE_HEAD, SEEN_CLAIMS, shown_url
from harness.errors import BadConfig
from harness.git import Git

SHA256_DIGITS = 64
_HEADS, _TAGS = "refs/heads/", "refs/tags/"


@dataclass(frozen=True)
class Listing:
    """`default_branch` is what HEAD names; "": the repository is empty, its HEAD is detached, or names
    a branch that is not there. `refs`: full name to id, of all refs."""

    default_branch: str
    refs: dict[str, str]

    def is_known(self, git: Git, config: Config) -> bool:
        """Whether control.git has exactly this of branches, tags and claims: a fetch would change nothing."""
        wanted: dict[str, str] = {}
        for name, oid in self.refs.items():
            if name.startswith(_HEADS):
                wanted[REMOTE + name.removeprefix(_HEADS)] = oid
            if name.startswith(_TAGS):
                wanted[name] = oid
            if name.startswith(config.claims_prefix):
                wanted[SEEN_CLAIMS + name.removeprefix(config.claims_prefix)] = oid
        there = git.refs(REMOTE, _TAGS, SEEN_CLAIMS)
        there.pop(REMOTE_HEAD, None)
        return there == wanted


def ask(git: Git, config: Config, *, timeout_seconds: float = origin.ANSWER_TIMEOUT_SECONDS) -> Listing:
    """
    Raises:
        TryLater: no answer, or a refusal.
        BadConfig: its objects are of SHA-256.
    """
    words = ("ls-remote", "--symref", "origin")
    found = parse(origin.ask(git, config, *words, timeout_seconds=timeout_seconds).text)
    if any(len(oid) == SHA256_DIGITS for oid in found.refs.values()):
        raise BadConfig(f"{shown_url(config)} has SHA-256 objects", hint=origin.FORMAT_HINT)
    return found


def parse(text: str) -> Listing:
    """From `ls-remote --symref`: `ref: <branch><tab>HEAD`, `<id><tab><name>`; a tag's commit is `<name>^{}`."""
    named = re.search(r"^ref: refs/heads/(\S+)\tHEAD$", text, re.MULTILINE)
    pairs = (line.split("\t", 1) for line in text.splitlines() if not line.startswith("ref: "))
    found = {pair[1]: pair[0] for pair in pairs if len(pair) == 2}
    refs = {name: oid for name, oid in found.items() if name.startswith("refs/") and not name.endswith("^{}")}
    return Listing(named[1] if named and "HEAD" in found else "", refs)
