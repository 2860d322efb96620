"""The outer loop: what is ready is worked, issue by issue, until nothing is.

finalize --pending                              where an earlier loop left a run
sync | select | worktree | run | finalize       for each issue, and again
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from ent_agent import state
from ent_agent.config import Config
from ent_agent.loop import telling
from ent_agent.loop.lookout import Lookout
from ent_agent.loop.passes import Pass
from ent_agent.loop.pipeline import Ran, Steps
from ent_agent.loop.progress import Progress
from ent_agent.records import Record
from ent_agent.running import runs
from harness import lock, process
from harness.config import given_number, given_seconds, seconds
from harness.errors import Busy, Failure, Usage

STEP_SECONDS = 3600.0
"""Bound of a step that is not the agent's: some git calls, each bounded itself."""


@dataclass(frozen=True)
class Options:
    """How to loop. `once`: the first issue only; `forever`: look again after `interval_seconds`."""

    once: bool = False
    forever: bool = False
    interval_seconds: float = 60.0
    jobs: int = 1
    issue: str = ""

    @classmethod
    def of(
        cls,
        config: Config,
        *,
        once: bool = False,
        forever: bool = False,
        interval: str = "",
        jobs: str = "",
        issue: str = "",
    ) -> Options:
        """Options as a person gives them; what is left out is config.toml's. `interval`: "300" or "5m".

        Raises:
            Usage: they do not go together, or make no sense.
        """
        if once and forever:
            raise Usage("--once and --forever exclude each other")
        at_once = given_number("--jobs", jobs) if jobs else config.loop.jobs
        if at_once < 1:
            raise Usage("--jobs must be 1 or more")
        pause = given_seconds("--interval", interval or config.loop.interval)
        return cls(once=once, forever=forever, interval_seconds=pause, jobs=at_once, issue=issue)


def run(config: Config, options: Options, progress: Progress, steps: Steps | None = None) -> int:
    """Work until nothing is ready (`forever`: until told to end); returns the exit code.

    0: all that was ready was worked; else the worst that happened in the last pass.
    A second loop on the same state folder says so on stderr, and returns 0.
    """
    process.hide_memory()  # the environment may hold what no agent may see
    steps = steps or Steps(config.path, telling.of_steps(progress))
    with ExitStack() as stack:
        try:
            stack.enter_context(lock.held(state.of(config).loop_lock, what="the state folder's loop lock"))
        except Busy as busy:
            print(f"another loop is at work: {busy.message}", file=sys.stderr)
            return 0
        loop = _Loop(config, options, progress, stack.enter_context(steps))
        stack.enter_context(loop.signals_heeded())
        return loop.until_done()


def dry_run(config: Config, options: Options, progress: Progress, steps: Steps | None = None) -> int:
    """Fetch, and say what would be done and what would be passed over; returns the exit code."""
    steps = steps or Steps(config.path, telling.of_steps(progress))
    loop = _Loop(config, options, progress, steps)
    with steps, loop.signals_heeded():
        current = Pass()
        ready = loop.look(current)
        for record in ready:
            telling.would_work(progress, record)
        if not ready and not current.exit_code:
            progress.say("nothing_ready", "nothing to do")
    return current.exit_code


@dataclass
class _Loop:
    config: Config
    options: Options
    progress: Progress
    steps: Steps
    _stops: int = 0
    _lookout: Lookout = field(init=False)

    def __post_init__(self) -> None:
        self._lookout = Lookout(self.config, self.progress, self._run, lambda: bool(self._stops))

    # ---- until nothing is left

    def until_done(self) -> int:
        retries = 0
        while True:
            current = self.one_pass()
            self._tidy(current)
            if self._stops:
                self.progress.say("stopped", "stopped, as told; what was begun is kept")
                return current.exit_code
            if current.retry and (self.options.forever or retries < self.config.loop.max_retries):
                retries += 1
                pause = seconds(self.config.loop.retry_delay)
                self.progress.say(
                    "retry",
                    f"trying again in {self.config.loop.retry_delay}",
                    level="warning",
                    retries=retries,
                )
            elif self.options.forever:
                retries = 0
                pause = self.options.interval_seconds
            else:
                self._sum_up(current)
                return current.exit_code
            self._sleep(pause)

    def one_pass(self) -> Pass:
        """Finish what an earlier loop left, then work what is ready, looking again after each.

        Where it stays (`forever`), a free job looks again after the interval too.
        """
        current = Pass()
        if runs.unfinished(self.config):
            self._ended(self._run("finalize", "--pending"), current, late=True)
        running: dict[Future[Ran], str] = {}
        looked, next_look = False, 0.0
        with ThreadPoolExecutor(self.options.jobs, "issue") as pool:
            while True:
                looked &= not self.options.forever or time.monotonic() < next_look
                if not looked and self._may_start(current, running):
                    looked, next_look = True, time.monotonic() + self.options.interval_seconds
                    for record in self._next(current, running):
                        assert record.issue
                        current.times[record.issue.id] += 1
                        running[pool.submit(self._work, record)] = record.issue.id
                if not running:
                    return current
                done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
                for future in done:
                    looked = False
                    current.worked += 1
                    issue, ran = running.pop(future), future.result()
                    self._ended(ran, current)
                    if not ran.records:  # what it left is found by `finalize --pending`
                        current.given_up.add(issue)

    def look(self, current: Pass) -> list[Record]:
        return self._lookout.look(current, self.options.issue)

    # ---- one issue

    def _work(self, record: Record) -> Ran:
        """worktree | run | finalize; returns how the last of them ended that had something to work on."""
        telling.begun(self.progress, record)
        ran = self._run("worktree", feed=[record])
        if ran.records and not ran.records[0].error and not self._stops:
            telling.agent_started(self.progress, ran.records[0], self.config)
            ran = self._run("run", feed=ran.records)
            for one in ran.records:
                telling.agent_ended(self.progress, one)
        return self._run("finalize", feed=ran.records) if ran.records else ran

    def _ended(self, ran: Ran, current: Pass, *, late: bool = False) -> None:
        if ran.error and not self._stops:
            telling.failed(self.progress, ran.step, ran.error)
            current.note_error(ran.error)
        for record in ran.records:
            telling.ended(self.progress, record)
            current.note_end(record, late=late)

    # ---- what may be started

    def _may_start(self, current: Pass, running: dict[Future[Ran], str]) -> bool:
        if self._stops or current.agent_is_out or len(running) >= self.options.jobs:
            return False
        return not (self.options.once and current.times)

    def _next(self, current: Pass, running: dict[Future[Ran], str]) -> Iterator[Record]:
        """The ready issues that are started now. One that was worked in this pass comes again only
        when selection still says so, no step failed on it, and at most `max_attempts` times."""
        free = 1 if self.options.once else self.options.jobs - len(running)
        for record in self.look(current):
            assert record.issue
            issue = record.issue.id
            if issue in running.values() or issue in current.given_up:
                continue
            if free > 0 and current.times[issue] < self.config.limits.max_attempts:
                free -= 1
                yield record

    # ---- steps, signals, sleep

    def _tidy(self, current: Pass) -> None:
        """Remove old runs, and pack what many small writes left: a loop must not fill its disk."""
        from ent_agent.housekeeping import retention, upkeep

        try:
            removed = list(retention.prune_runs(self.config, retention.LOOP_RULES)) if current.worked else []
            for one in (*removed, *upkeep.pack(self.config)):
                if one.verdict in ("removed", "packed") and one.kind in ("run", "objects"):
                    self.progress.say("tidied", f"{one.kind} {one.name}: {one.reason}")
        except Failure as failure:  # of no weight: the next pass tries again
            self.progress.say("tidied", f"not tidied: {failure.message}", level="warning")

    def _run(self, step: str, *options: str, feed: list[Record] | None = None) -> Ran:
        bound = STEP_SECONDS
        if step == "run":
            bound += seconds(self.config.limits.agent_timeout)
            bound += seconds(self.config.worktree.setup_timeout) * len(self.config.worktree.setup)
        return self.steps.run(step, *options, feed=feed, timeout_seconds=bound)

    def _sum_up(self, current: Pass) -> None:
        if not current.worked and not current.exit_code:
            self.progress.say("nothing_ready", "nothing to do")
            return
        bad = f", but not all went well (exit {current.exit_code})" if current.exit_code else ""
        self.progress.say(
            "done",
            f"done: {current.worked} worked{bad}",
            level="warning" if bad else "info",
            worked=current.worked,
            exit_code=current.exit_code,
        )

    def _sleep(self, pause_seconds: float) -> None:
        deadline = time.monotonic() + pause_seconds
        while not self._stops and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))

    @contextmanager
    def signals_heeded(self) -> Iterator[None]:
        """TERM and INT: nothing new is begun, the agents are stopped; a second one ends every step."""

        def stop(_number: int, _frame: object) -> None:
            self._stops += 1
            self.steps.stop(everything=self._stops > 1)

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
