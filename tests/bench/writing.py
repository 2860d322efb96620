"""One comment and one change of state, against the bare plumbing commands and the real ent."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from tests.bench.measuring import Figure, Pair, Run, pair, process, turns_with_real
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

    size, few = f"among {tracker.issues:,}", turns_with_real(tracker.issues, turns)
    plumbing = "the plumbing in a shell script"
    found = []
    for what, verb, ours, bare in (
        ("a comment", "comment", comment, bare_comment),
        ("a change of state", "state", state, bare_state),
    ):
        found.append(pair(f"{what}, {size}", ours(ENT), plumbing, bare, turns))
        if real:
            found.append(pair(f"{what}, {size}", ours(ENT), f"`ent {verb}` (the real one)", ours(real), few))
    return found
