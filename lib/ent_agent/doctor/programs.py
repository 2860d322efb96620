"""The programs that the loop itself needs."""

from __future__ import annotations

from collections.abc import Iterator

from harness.doctor import programs
from harness.doctor.findings import Finding

PACKAGES = {"git": "git", "ssh": "openssh-client", "ssh-keygen": "openssh-client"}
"""Program to Debian package."""


def needed() -> Iterator[Finding]:
    """git and ssh are there, and recent enough."""
    yield from programs.needed(PACKAGES)
