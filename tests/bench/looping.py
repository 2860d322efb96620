"""The loop: a look with nothing ready, and its own time for an issue; what its steps take."""

from __future__ import annotations

import json
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


@dataclass(frozen=True)
class Counter:
    """What is started meanwhile: `folder` has a log of programs, and what each git tells of itself (trace2)."""

    folder: Path

    def programs(self) -> int:
        return len(_lines(self.folder / "programs"))

    def git_seconds(self) -> float:
        """What our git commands took, with all below them; those of the agent name no repository, and the one that
        answers a step's questions (cat-file) mostly waits."""
        told = [json.loads(line) for line in _lines(self.folder / "events")]
        begun = {one["sid"]: one["argv"] for one in told if one["event"] == "start" and "/" not in one["sid"]}
        ours = {
            sid
            for sid, argv in begun.items()
            if any(word.startswith("--git-dir=") for word in argv) and "cat-file" not in argv
        }
        return sum(float(one["t_abs"]) for one in told if one["event"] == "atexit" and one["sid"] in ours)

    def on_path(self) -> Path:
        """A folder for PATH whose programs note each start and become the real ones."""
        stubs = self.folder / "counting"
        stubs.mkdir(parents=True)
        trace = f"export GIT_TRACE2_EVENT='{self.folder}/events'\n"
        for name in PROGRAMS:
            if real := shutil.which(name):
                stub = stubs / name
                told = trace if name == "git" else ""
                stub.write_text(
                    f"#!/bin/sh\n{told}echo {name} >>'{self.folder}/programs'\nexec {real} \"$@\"\n"
                )
                stub.chmod(0o755)
        return stubs


@dataclass(frozen=True)
class Taken:
    """By one start of a step."""

    seconds: float
    programs: int = 0
    git_seconds: float = 0.0


@dataclass
class TimedSteps(Steps):
    """Notes what each step took, and with `counter` what it started."""

    taken: dict[str, list[Taken]] = field(default_factory=lambda: defaultdict(list))
    counter: Counter | None = None

    def run(
        self, step: str, *options: str, feed: Sequence[Record] | None = None, timeout_seconds: float
    ) -> Ran:
        counter = self.counter
        programs, in_git = (counter.programs(), counter.git_seconds()) if counter else (0, 0.0)
        started = time.perf_counter()
        ran = super().run(step, *options, feed=feed, timeout_seconds=timeout_seconds)
        seconds = time.perf_counter() - started
        if counter:
            programs, in_git = counter.programs() - programs, counter.git_seconds() - in_git
        self.taken[step].append(Taken(seconds, programs, in_git))
        return ran


@dataclass(frozen=True)
class StepRow:
    """Per issue: how often a step ran, what it took without the agent's part, how many programs it started, and what
    of its time was that of its git commands."""

    step: str
    times: float
    seconds: float
    programs: float
    git_seconds: float


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
    """Where the time goes, per issue; programs are counted, and git's time is taken, in a pass of their own."""
    folder.mkdir()
    timed_work, counted_work = Work.make(folder / "timed", issues), Work.make(folder / "counted", issues)
    timed, counted = _pass(timed_work, None), _pass(counted_work, Counter(folder / "counter"))
    rows = []
    for step, taken in timed.items():
        seconds = sum(each.seconds for each in taken)
        if step == "run":
            seconds -= timed_work.agent_seconds()
        programs = sum(each.programs for each in counted.get(step, []))
        in_git = sum(each.git_seconds for each in counted.get(step, []))
        rows.append(StepRow(step, len(taken) / issues, seconds / issues, programs / issues, in_git / issues))
    return rows


def run(config: Config, steps: Steps | None = None) -> None:
    exit_code = loop.run(
        config, loop.Options(), Silent(), steps or Steps(config.path, lambda _step, _text: None)
    )
    if exit_code:
        raise RuntimeError(f"the loop ended with {exit_code}")


def _pass(work: Work, counter: Counter | None) -> dict[str, list[Taken]]:
    steps = TimedSteps(work.config.path, lambda _step, _text: None, counter=counter)
    path = os.environ["PATH"]
    if counter:
        os.environ["PATH"] = f"{counter.on_path()}:{path}"
    try:
        run(work.config, steps)
    finally:
        os.environ["PATH"] = path
    return steps.taken


def _lines(log: Path) -> list[str]:
    return log.read_text("utf-8").splitlines() if log.exists() else []


def _agent(work: Work) -> Figure:
    return Figure(work.agent_seconds(), 0.0)


def _git(git_dir: Path) -> list[str]:
    return ["git", f"--git-dir={git_dir}"]
