"""What a run has changed in its repository, from the commits that it began and ended with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fordjent import threads
from fordjent.session_key import SessionKey
from harness.git import Git

if TYPE_CHECKING:
    from fordjent.context import Context

LONGEST_BYTES = 400_000
GIT_SECONDS = 10.0
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SAFE = {"core.useReplaceRefs": "false", "core.fsmonitor": "false"}


class Diff(msgspec.Struct):
    """`why` there is none, "" when there is one. `summary`: the files, with how much in each. Redacted."""

    text: str = ""
    summary: str = ""
    why: str = ""
    left_out_bytes: int = 0


async def of(context: Context, key: SessionKey, start: str, end: str) -> Diff:
    if not _COMMIT.fullmatch(start) or not _COMMIT.fullmatch(end):
        return Diff(why="It has not ended with a commit.")
    if start == end:
        return Diff(why="It changed nothing in the repository.")
    control = context.config.state_dir / "repositories" / key.repository.lower() / "control.git"
    git = Git(control, config=_SAFE)

    def read() -> Diff:
        if not control.is_dir():
            return Diff(why="The repository is not on this machine any more.")
        # nothing that the repository's attributes or configuration name is run
        words = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--end-of-options", start, end, "--")
        summary = git.run("diff", "--stat=100", *words[1:], check=False, timeout_seconds=GIT_SECONDS)
        whole = git.run(*words, check=False, timeout_seconds=GIT_SECONDS)
        if not whole.ok or not summary.ok:
            return Diff(why="Its commits are not on this machine any more.")
        redact = context.redactor.redact
        text = redact(whole.stdout.decode("utf-8", "replace"))
        return Diff(
            text=text[:LONGEST_BYTES],
            summary=redact(summary.stdout.decode("utf-8", "replace")),
            left_out_bytes=max(0, len(text) - LONGEST_BYTES),
        )

    return await threads.run(read)
