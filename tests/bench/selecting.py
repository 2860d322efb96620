"""Choosing among many issues, cold and warm, against a bare walk and the real ent."""

from __future__ import annotations

from pathlib import Path

from tests.bench.measuring import Figure, Pair, pair, process, turns_with_real
from tests.bench.places import BigTracker

ROOT = Path(__file__).resolve().parents[2]
SELECT = ROOT / "bin/ent-agent-select"
DATA = "refs/heads/entomologist-data"


def measure(tracker: BigTracker, real: str, turns: int) -> list[Pair]:
    """Pairs for one size; `real`: path of a real ent, "" for none."""
    words: list[str | Path] = [SELECT, "--limit", "1", "--config", tracker.config.path]

    def cold() -> Figure:
        tracker.cache.unlink(missing_ok=True)
        return process(words, tracker.clone)

    def warm() -> Figure:
        return process(words, tracker.clone)

    def walk() -> Figure:
        return process(["git", "ls-tree", "-r", DATA], tracker.clone)

    def real_list() -> Figure:
        return process([real, "list"], tracker.clone)

    found = []
    for how, run in (("cold", cold), ("warm", warm)):
        what = f"select among {tracker.issues:,}, {how}"
        found.append(pair(what, run, "`git ls-tree -r` of the branch", walk, turns))
        if real:
            few = turns_with_real(tracker.issues, turns)
            found.append(pair(what, run, "`ent list` (the real one)", real_list, few))
    return found
