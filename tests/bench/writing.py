"""One comment and one change of state, against the bare plumbing commands and the real ent."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from tests.bench.measuring import Figure, Pair, Run, pairs, process
from tests.bench.places import BigTracker

ROOT = Path(__file__).resolve().parents[2]
ENT = ROOT / "bin/ent-agent-ent"
BARE = Path(__file__).parent / "bare"
STATES = itertools.cycle(("backlog", "blocked", "inprogress"))


def measure(tracker: BigTracker, real: str, turns: int) -> list[Pair]:
    issue, git_dir = tracker.an_issue, tracker.clone / ".git"

    def comment(program: str | Path) -> Run:
        return lambda: process([program, "comment", issue, "A comment."], tracker.clone)

    def state(program: str | Path) -> Run:
        return lambda: process([program, "state", issue, next(STATES)], tracker.clone)

    def bare_comment() -> Figure:
        return process([BARE / "comment", git_dir, issue, os.urandom(16).hex()], tracker.clone)

    def bare_state() -> Figure:
        return process([BARE / "state", git_dir, issue, next(STATES)], tracker.clone)

    comments: dict[str, Run] = {"the plumbing in a shell script": bare_comment}
    states: dict[str, Run] = {"the plumbing in a shell script": bare_state}
    if real:
        comments["`ent comment` (the real one)"] = comment(real)
        states["`ent state` (the real one)"] = state(real)
    size = f"among {tracker.issues:,}"
    return [
        *pairs(f"a comment, {size}", comment(ENT), comments, turns),
        *pairs(f"a change of state, {size}", state(ENT), states, turns),
    ]
