"""What a claim on origin says: a commit of the empty tree whose message is one line of JSON.

No two values are equal (a push of an equal value is "up to date" for everybody), and each
has the value that it replaces as its parent, so that a renewal is a fast-forward where
claims live below refs/heads/.
"""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

import msgspec

from harness import clock
from harness.errors import BadData
from harness.git import Git
from harness.objects import format_tree

TTL_VARIABLE = "ENT_AGENT_CLAIM_TTL"
"""For tests only: a shorter ttl in seconds; everything else follows from it."""

TTL_SECONDS = float(os.environ.get(TTL_VARIABLE) or 900)
RENEWAL_SECONDS = TTL_SECONDS / 5
HOLD_SECONDS = TTL_SECONDS * 0.75
"""Counted from the start of the last good renewal: after it the holder stops itself."""
SHORTEST_SECONDS = min(60.0, TTL_SECONDS)
LONGEST_SECONDS = 3600.0
"""Bounds of another's ttl, whatever it says."""


class ClaimValue(msgspec.Struct, frozen=True, kw_only=True, rename={"version": "v", "number": "n"}):
    """Who works on an issue. `time` is for people; nobody computes with it."""

    version: int = 1
    issue: str = ""
    agent: str = ""
    host: str = ""
    machine: str = ""
    boot: str = ""
    pid: int = 0
    run: str = ""
    number: int = 0
    ttl: float = TTL_SECONDS
    time: str = ""
    nonce: str = ""
    released: bool = False
    """Where origin lets nobody delete refs, this value says that the claim has ended."""

    @classmethod
    def of(cls, issue: str, agent: str, run: str, number: int, *, released: bool = False) -> ClaimValue:
        """A value of this process, unlike any other."""
        return cls(
            issue=issue,
            agent=agent,
            host=socket.gethostname(),
            machine=machine_id(),
            boot=clock.boot_id(),
            pid=os.getpid(),
            run=run,
            number=number,
            time=clock.timestamp(),
            nonce=os.urandom(8).hex(),
            released=released,
        )

    @property
    def lasts_seconds(self) -> float:
        """How long it must stand unchanged to be over: its ttl, within bounds."""
        return min(max(self.ttl, SHORTEST_SECONDS), LONGEST_SECONDS)

    def write(self, git: Git, parent: str | None) -> str:
        """The commit that holds it; no ref is moved."""
        tree = git.objects.write("tree", format_tree({}))
        return git.objects.write_commit(tree, [parent] if parent else [], self.message())

    def message(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def parse(cls, commit: bytes) -> ClaimValue:
        """The value that a commit object holds.

        Raises:
            BadData: it holds none.
        """
        try:
            return msgspec.json.decode(commit.split(b"\n\n", 1)[1], type=cls)
        except (IndexError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadData(f"not a claim: {error}") from error


@cache
def machine_id() -> str:
    """This machine, for telling our own claims; a digest, since machine-id(5) is not to be published."""
    try:
        told = Path("/etc/machine-id").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        told = ""
    return hashlib.sha256(f"ent-agent {told or socket.gethostname()}".encode()).hexdigest()[:16]
