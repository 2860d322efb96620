"""docs/benchmarks.md, from what was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness import git
from tests.bench.intake import Rate
from tests.bench.looping import StepRow
from tests.bench.measuring import Pair

INTRODUCTION = """\
# Benchmarks

Written by `invoke bench` (`--large` adds 100,000 issues; `ENT_REAL` names a real `ent` to compare with). Each figure stands
beside its baseline, which was run in turn with it; what counts is the ratio, the median of the turns' own ratios. "cpu" is the
processor time of a process and all below it, which other work on the machine hardly changes.
"""


@dataclass
class Results:
    """What a run of the benchmarks found. `turns`: how often each pair was run."""

    turns: int
    selecting: list[Pair] = field(default_factory=list)
    writing: list[Pair] = field(default_factory=list)
    idle: list[Pair] = field(default_factory=list)
    looping: list[Pair] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    intake: list[Rate] = field(default_factory=list)


def text(results: Results) -> str:
    parts = [
        INTRODUCTION,
        _machine(results.turns),
        "## Choosing among many issues\n\n" + _pairs(results.selecting, peak=True),
        "## Writing\n\n" + _pairs(results.writing, peak=True),
        "## A look with nothing to do\n\nThe baseline is a fetch from the same origin.\n\n"
        + _pairs(results.idle),
        "## The loop's own time for an issue\n\nWith an agent that commits and ends at once; its own time is taken off on both sides. The"
        "\nscript is `tests/bench/bare/issue`: the same effects on origin, without what makes them safe.\n\n"
        + _pairs(results.looping, cpu=False),
        '### Where it goes\n\nPer issue. "Programs" are git, ssh-keygen and bwrap, beside the step\'s own Python.\n\n'
        + _steps(results.steps),
        "## Deliveries of a forge\n\nEach is verified, and on disk with its event before its answer, many to one commit. The baseline reads"
        " and answers,\nand keeps nothing. Whoever sends them has a processor of his own.\n\n"
        + _pairs([one.pair for one in results.intake], peak=True)
        + "".join(
            f"\n{one.pair.what}: {one.ours:,.0f} a second; the baseline {one.baseline:,.0f}.\n"
            for one in results.intake
        ),
    ]
    return "\n".join(parts)


def _machine(turns: int) -> str:
    version = ".".join(map(str, git.version()))
    return (
        f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, git {version}; "
        f"medians of {turns} turns.\n"
    )


def _pairs(pairs: Sequence[Pair], *, peak: bool = False, cpu: bool = True) -> str:
    head = [
        "what",
        "took",
        "against",
        "took",
        "ratio",
        *(["cpu ratio"] if cpu else []),
        *(["memory"] if peak else []),
    ]
    rows = [
        [
            one.what,
            _seconds(one.ours.seconds),
            one.baseline_name,
            _seconds(one.baseline.seconds),
            f"**{_ratio(one.ratio)}**",
            *([_ratio(one.cpu_ratio)] if cpu else []),
            *([f"{one.ours.peak_mb:.0f} MB"] if peak else []),
        ]
        for one in pairs
    ]
    return _table(head, rows)


def _steps(steps: Sequence[StepRow]) -> str:
    rows = [
        [
            one.step,
            f"{one.times:.1f}",
            _seconds(one.seconds),
            f"{one.programs:.0f}",
        ]
        for one in steps
    ]
    rows.append(
        [
            "all",
            f"{sum(one.times for one in steps):.1f}",
            _seconds(sum(one.seconds for one in steps)),
            f"{sum(one.programs for one in steps):.0f}",
        ]
    )
    return _table(["step", "times", "took", "programs"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 1 else f"1/{1 / ratio:.0f}" if ratio < 0.1 else f"{ratio:.2f}"
