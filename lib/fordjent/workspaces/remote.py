"""Exchanges of git with the forge: with an end, tried again where that helps, and told so that a person can act.

git's texts (in English, `harness.git` sees to it) choose the words only: what a push that
failed has done is told by asking the forge again.
"""

from __future__ import annotations

import re
import time

from harness import cutting
from harness.errors import Failure, TryLater
from harness.git import Git, GitFailed
from harness.process import Finished

TRIES = 3
PAUSE_SECONDS = 0.3
FETCH_SECONDS = 600.0
PUSH_SECONDS = 300.0
LISTED_CHARACTERS = 500

_LOCKED = r"cannot lock ref|[Uu]nable to create '.*\.lock'"
_MEANINGS = (
    (
        r"could not read (?:Username|Password)|Authentication failed|error: 40[13]\b|not authori[sz]ed"
        r"|[Ww]rite access|denied to",
        "permission_denied",
        "see that forgejo.token is valid, may write to repositories, and that its account may write to this one",
    ),
    (r"archived", "archived", "nothing is written to an archived repository"),
    (
        r"not found|error: 404\b|does not appear to be a git repository",
        "not_a_repository",
        "see that the repository is there, and that the token's account may read it",
    ),
    (
        r"hook declined|protected branch|\[remote rejected\]",
        "push_refused",
        "look at the branch protection and the hooks of the repository",
    ),
    (r"No space left|[Dd]isk quota", "disk_full", "make room on the disk"),
)
_NO_LINE = ("hint:", "warning:", "remote: Processing", "To ", "fatal: Could not read", "Please make sure")


def ask(git: Git, *args: str, timeout_seconds: float = FETCH_SECONDS) -> Finished:
    """Run a git command that talks to the forge; again where another git was at the same ref.

    Raises:
        TryLater: it failed; `code` says why as far as that is known.
    """
    for tries_left in reversed(range(TRIES)):
        finished = git.run(*args, check=False, timeout_seconds=timeout_seconds)
        if finished.ok:
            return finished
        if not (tries_left and re.search(_LOCKED, finished.error_text)):
            break
        time.sleep(PAUSE_SECONDS)
    raise explain(finished)


def explain(finished: Finished) -> Failure:
    """A failed exchange as a person needs to hear it."""
    if finished.timed_out:
        return TryLater("the forge did not answer git in time", code="git_unreachable")
    said = "\n".join([finished.error_text, *refusals(finished).values()])
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(_NO_LINE)]
    line = cutting.beginning((telling or lines or ["no answer"])[0], LISTED_CHARACTERS)
    for pattern, code, hint in _MEANINGS:
        if re.search(pattern, said):
            return TryLater(f"git and the forge: {line}", hint=hint, code=code)
    if not said:
        return GitFailed(finished)
    return TryLater(f"git and the forge: {line}", hint="see that the forge is up", code="git_unreachable")


def refusals(finished: Finished) -> dict[str, str]:
    """Ref to reason, from `git push --porcelain`: `!<tab>from:to<tab>summary (reason)`."""
    parts = [line.split("\t") for line in finished.text.splitlines() if line.startswith("!\t")]
    return {part[1].rpartition(":")[2]: part[2] for part in parts if len(part) == 3}
