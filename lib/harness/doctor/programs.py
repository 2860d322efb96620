"""The programs that we ourselves need, and where a command's own interpreter is."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness import git, invocation
from harness.doctor.findings import Finding, of_failure, ok, problem
from harness.errors import Failure

OLDEST_PYTHON = (3, 11)
OLDEST_GIT = (2, 38)
"""`git merge-tree --write-tree`, by which unpublished commits are put on top of origin's."""


def python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        yield problem("python", f"Python {version} is older than {oldest}", "sudo apt-get install python3.11")
    else:
        yield ok("python", f"Python {version}, {sys.executable}")
    yield ok("path", f"PATH={os.environ.get('PATH', '')}")


def needed(packages: Mapping[str, str]) -> Iterator[Finding]:
    """Programs are there, and git is recent enough. `packages`: program to Debian package."""
    for program, package in packages.items():
        path = shutil.which(program)
        if path is None:
            where = os.environ.get("PATH", "")
            yield problem(
                program,
                f"{program} is not on PATH ({where})",
                f"sudo apt-get install {package}",
                missing=True,
            )
        elif program == "git":
            yield _git_version(path)
        else:
            yield ok(program, path)


def _git_version(path: str) -> Finding:
    try:
        version = git.version()
    except (Failure, IndexError) as error:
        if isinstance(error, Failure):
            return of_failure("git", error)
        return problem("git", f"{path} does not say its version", "sudo apt-get install git")
    written = ".".join(map(str, version))
    if version < OLDEST_GIT:
        oldest = ".".join(map(str, OLDEST_GIT))
        return problem("git", f"git {written} is older than {oldest}", "sudo apt-get install git")
    return ok("git", f"git {written}, {path}")


def why_not_runnable(command: Sequence[str], folder: Path | None = None) -> str:
    """Why a command could not be started, its interpreter (`#!`) included; "" when it could.

    `folder` is where a first word with a slash counts from. A command that is found may
    still not run: `env: 'node': No such file or directory` (field case: cron's PATH).
    """
    word = command[0]
    if "/" in word:
        place = (folder or Path()) / Path(word).expanduser()
        found = str(place) if place.exists() else None
    else:
        found = shutil.which(word)
    if found is None:
        return f"{word} is not {'there' if '/' in word else 'on PATH'}"
    if not os.access(found, os.X_OK) or Path(found).is_dir():
        return f"{found} is not executable"
    needed = invocation.interpreter(found)
    if needed and shutil.which(needed) is None:
        return f"{found} needs {needed}, which is not on PATH"
    return ""
