"""The loop: a look with nothing ready, and its own time for an issue; what its steps take."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ent_agent.config import Config
from ent_agent.loop import loop
from ent_agent.loop.pipeline import Ran, Steps
from ent_agent.records import Record
from tests.bench.measuring import Figure, Pair, block, pair, process
from tests.bench.places import BareWork, Work
from tests.support.ssh_server import SshServer

ROOT = Path(__file__).resolve().parents[2]
ISSUE = Path(__file__).parent / "bare/issue"
PROGRAMS = ("git", "ssh-keygen", "bwrap")
"""What our steps start beside Python."""


class Silent:
    """A progress that nobody reads."""

    def say(self, *_words: object, **_facts: object) -> None:
        return


@dataclass
class TimedSteps(Steps):
    """Notes what each step took, and how many programs it started (`counter`: their log)."""

    taken: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    counter: Path | None = None

    def run(
        self, step: str, *options: str, feed: Sequence[Record] | None = None, timeout_seconds: float
    ) -> Ran:
        before, started = _lines(self.counter), time.perf_counter()
        ran = super().run(step, *options, feed=feed, timeout_seconds=timeout_seconds)
        self.taken[step].append((time.perf_counter() - started, _lines(self.counter) - before))
        return ran


@dataclass(frozen=True)
class StepRow:
    """Per issue: how often a step ran, what it took, and how many programs it started."""

    step: str
    times: float
    seconds: float
    programs: float


def idle(work: Work, turns: int) -> list[Pair]:
    """A look when there is nothing to do, in a running loop and as a whole `invoke loop`."""
    steps = TimedSteps(work.config.path, lambda _step, _text: None)
    fetch = [*_git(work.control), "fetch", "--quiet", "--prune", "origin"]

    def look() -> Figure:
        return block(lambda: loop.run(work.config, loop.Options(), Silent(), steps))

    def whole() -> Figure:
        words: list[str | Path] = [
            sys.executable,
            "-m",
            "invoke",
            "-r",
            ROOT,
            "loop",
            "--config",
            work.config.path,
        ]
        return process(words, work.control)

    def one_fetch() -> Figure:
        return process(fetch, work.control)

    return [
        pair("a look with nothing ready", look, "one `git fetch`", one_fetch, turns),
        pair("`invoke loop` with nothing ready", whole, "one `git fetch`", one_fetch, turns),
    ]


def per_issue(folder: Path, issues: int, turns: int, server: SshServer | None = None) -> Pair:
    """The loop's own time for an issue: a whole pass, without the agent's part, by the number of issues.

    With `server`, origin is met over ssh.
    """
    folder.mkdir()
    number = iter(range(1000))

    def ours() -> Figure:
        work = Work.make(folder / f"loop {next(number)}", issues, server)
        figure = block(lambda: run(work.config))
        return (figure - _agent(work)) / issues

    def bare() -> Figure:
        work = Work.make(folder / f"bare {next(number)}", issues, server)
        places = BareWork.make(work, work.log.parent)
        words: list[list[str | Path]] = [
            [ISSUE, places.control, places.work, places.worktrees, one, work.agent] for one in work.issues
        ]
        figure = block(lambda: [process(one, work.log.parent) for one in words])
        return (figure - _agent(work)) / issues

    what = f"own time per issue, of {issues}{', over ssh' if server else ''}"
    return pair(what, ours, "the git commands in a shell script", bare, turns)


def steps(folder: Path, issues: int) -> list[StepRow]:
    """Where the time goes, per issue; programs are counted in a pass of their own."""
    timed = _pass(Work.make(folder / "timed", issues), None)
    counted = _pass(Work.make(folder / "counted", issues), folder / "programs")
    rows = []
    for step, taken in timed.items():
        seconds = sum(each for each, _ in taken)
        programs = sum(count for _, count in counted.get(step, []))
        rows.append(StepRow(step, len(taken) / issues, seconds / issues, programs / issues))
    return rows


def run(config: Config, steps: Steps | None = None) -> None:
    exit_code = loop.run(
        config, loop.Options(), Silent(), steps or Steps(config.path, lambda _step, _text: None)
    )
    if exit_code:
        raise RuntimeError(f"the loop ended with {exit_code}")


def _pass(work: Work, counter: Path | None) -> dict[str, list[tuple[float, int]]]:
    steps = TimedSteps(work.config.path, lambda _step, _text: None, counter=counter)
    path = os.environ["PATH"]
    if counter:
        os.environ["PATH"] = f"{_counting(counter)}:{path}"
    try:
        run(work.config, steps)
    finally:
        os.environ["PATH"] = path
    return steps.taken


def _counting(log: Path) -> Path:
    """A folder for PATH whose programs note each start in `log` and become the real ones."""
    folder = log.parent / "counting"
    folder.mkdir()
    for name in PROGRAMS:
        if real := shutil.which(name):
            stub = folder / name
            stub.write_text(f"#!/bin/sh\necho {name} >>'{log}'\nexec {real} \"$@\"\n")
            stub.chmod(0o755)
    return folder


def _lines(log: Path | None) -> int:
    return log.read_text().count("\n") if log and log.exists() else 0


def _agent(work: Work) -> Figure:
    return Figure(work.agent_seconds(), 0.0)


def _git(git_dir: Path) -> list[str]:
    return ["git", f"--git-dir={git_dir}"]
