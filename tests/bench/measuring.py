"""Whole processes, measured from outside, and in turn with what they are compared with."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One run, or the medians of several. `cpu_seconds`: user and system, of all processes below too.

    `peak_mb`: of the largest single process (never below what the measuring one has itself).
    """

    seconds: float
    cpu_seconds: float
    peak_mb: float = 0.0

    def __sub__(self, other: Figure) -> Figure:
        return Figure(self.seconds - other.seconds, self.cpu_seconds - other.cpu_seconds, self.peak_mb)

    def __truediv__(self, count: int) -> Figure:
        return Figure(self.seconds / count, self.cpu_seconds / count, self.peak_mb)


@dataclass(frozen=True)
class Pair:
    """Ours and its baseline, run in turn: the ratio is the median of the ratios of the single turns."""

    what: str
    ours: Figure
    baseline_name: str
    baseline: Figure
    ratio: float
    cpu_ratio: float


Run = Callable[[], Figure]


def pair(what: str, ours: Run, baseline_name: str, baseline: Run, turns: int) -> Pair:
    """Both, one after the other, `turns` times; where there are several, after one that does not count."""
    taken = [(ours(), baseline()) for _ in range(turns + 1 if turns > 1 else 1)]
    counted = taken[-turns:]
    return Pair(
        what,
        medians([one for one, _ in counted]),
        baseline_name,
        medians([other for _, other in counted]),
        median(one.seconds / other.seconds for one, other in counted),
        median(one.cpu_seconds / max(other.cpu_seconds, 1e-4) for one, other in counted),
    )


def turns_with_real(issues: int, turns: int) -> int:
    """The real ent checks the whole branch out for each command: minutes among ten thousand issues, so once is enough."""
    return turns if issues < 10_000 else 1


def medians(figures: Sequence[Figure]) -> Figure:
    return Figure(
        median(one.seconds for one in figures),
        median(one.cpu_seconds for one in figures),
        max(one.peak_mb for one in figures),
    )


def process(
    words: Sequence[str | os.PathLike[str]], cwd: Path, *, env: dict[str, str] | None = None
) -> Figure:
    """Run a program to its end; it must succeed. Its output is thrown away."""
    started = time.perf_counter()
    child = subprocess.Popen(
        [os.fspath(word) for word in words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert child.stderr
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    if child.returncode:
        raise RuntimeError(f"{words}: exit {child.returncode}: {said.decode('utf-8', 'replace')}")
    return Figure(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def block(work: Callable[[], object]) -> Figure:
    """A call in this process: its time, and the processor time of the processes that it started and awaited."""
    before, started = os.times(), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - started, os.times()
    cpu = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Figure(seconds, cpu)
