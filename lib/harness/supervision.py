"""Run an agent to its end, whatever it does: limits, the ladder, and nothing left running."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness import clock
from harness.bounds import Bounds
from harness.process import kill_group
from harness.supervisor import Report, Task
from harness.sweeping import sweep

EndedBy = Literal[
    "exit",
    "timeout",
    "silence",
    "bounds",
    "signal",
    "cancelled",
    "claim_lost",
    "start_failed",
    "interrupted",
    "budget",
]

SUPERVISOR = (
    "import sys; sys.path.append(sys.argv[1]); from harness.supervisor import main; main(int(sys.argv[2]))"
)
LIBRARY = Path(__file__).resolve().parents[1]

WATCH_SECONDS = 1.0
PATIENCE_SECONDS = 30.0
"""What the supervisor may take beyond the ladder's grace before it is given up."""


@dataclass(frozen=True)
class Limits:
    """`silence_seconds` 0: none. `grace_seconds`: between the stop signal and KILL. Beyond `bounds`
    it is killed at once."""

    timeout_seconds: float
    silence_seconds: float = 0.0
    grace_seconds: float = 10.0
    bounds: Bounds = field(default_factory=Bounds)


@dataclass(frozen=True)
class Ended:
    """Facts about how it ended. `swept`: processes that were left and have been killed.

    `signal` without SIG; `error`: why it could not be started, which bound it went beyond, or what
    went wrong with its transcript.
    Times are RFC 3339, UTC.
    """

    exit_code: int | None
    signal: str | None
    ended_by: EndedBy
    started_at: str
    ended_at: str
    swept: tuple[int, ...] = ()
    error: str = ""


def supervise(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    transcript: Path,
    limits: Limits,
    marker: str,
    stdin: Path | None = None,
    stderr: Path | None = None,
    progress: Sequence[Path] = (),
    stop_signal: str = "TERM",
    watch: Callable[[], EndedBy | None] = lambda: None,
    wrapped: bool = False,
) -> Ended:
    """Run `command` to its end and end all that it leaves.

    `env` is all that the child gets, with ENT_RUN_ID=`marker` added. `stdin` is a file that
    it reads to its end (None: nothing). stdout goes to `transcript`, stderr to `stderr`
    (None: to the transcript too), as bytes. `progress` are files whose growth is a sign of
    life; without any there is no silence limit. `watch` is called about once a second: an
    answer stops the agent with that `ended_by`; an exception ends it at once and is raised.
    INT, TERM and HUP to this process stop it too ("interrupted"). `wrapped`: `command` is a
    sandbox around the agent.
    """
    task = Task(
        argv=list(command),
        cwd=str(cwd),
        env={**env, "ENT_RUN_ID": marker},
        stdin=str(stdin or ""),
        stdout=str(transcript),
        stderr=str(stderr or ""),
        timeout_seconds=limits.timeout_seconds,
        silence_seconds=limits.silence_seconds,
        grace_seconds=limits.grace_seconds,
        progress=[str(path) for path in progress],
        stop_signal=stop_signal,
        marker=marker,
        wrapped=wrapped,
        processes=limits.bounds.processes,
        memory_bytes=limits.bounds.memory_bytes,
        file_bytes=limits.bounds.file_bytes,
    )
    started_at = clock.timestamp()
    with _interruptions() as interruptions, _Supervisor(task) as supervisor:
        stopped_by: EndedBy | None = None
        patience_ends = time.monotonic() + limits.timeout_seconds + _patience(limits)
        while not supervisor.has_reported(WATCH_SECONDS) and time.monotonic() < patience_ends:
            if len(interruptions) > 1:
                supervisor.tell("kill")
            elif stopped_by is None and (stopped_by := "interrupted" if interruptions else watch()):
                supervisor.tell("stop")
                patience_ends = time.monotonic() + _patience(limits)
        report = supervisor.report()
    return Ended(
        exit_code=report.exit_code,
        signal=report.signal,
        ended_by=_ended_by(report, stopped_by),
        started_at=started_at,
        ended_at=clock.timestamp(),
        swept=tuple(report.swept),
        error=report.error,
    )


def _patience(limits: Limits) -> float:
    return limits.grace_seconds + PATIENCE_SECONDS


def _ended_by(report: Report, stopped_by: EndedBy | None) -> EndedBy:
    if report.ended_by == "stopped" and stopped_by:
        return stopped_by
    if report.ended_by == "exit" and report.signal:
        return "signal"
    known: dict[str, EndedBy] = {
        "timeout": "timeout",
        "silence": "silence",
        "bounds": "bounds",
        "start_failed": "start_failed",
        "signal": "signal",
    }
    return known.get(report.ended_by, "exit")


class _Supervisor:
    """The supervisor's process, from this side. When left, it and all below it have ended."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._received = b""
        self._swept: list[int] = []
        self._process = subprocess.Popen(
            # with the standard library alone it starts in half the time
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", SUPERVISOR, LIBRARY, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
        )

    def __enter__(self) -> _Supervisor:
        self.tell(json.dumps(self._task._asdict()))
        return self

    def tell(self, line: str) -> None:
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            view = memoryview(line.encode() + b"\n")
            while view:
                view = view[self._process.stdin.write(view) or 0 :]

    def has_reported(self, seconds: float) -> bool:
        """Whether it reported, or died, within so many seconds."""
        assert self._process.stdout
        while select.select([self._process.stdout], [], [], seconds)[0]:
            data = self._process.stdout.read(65536)
            self._received += data
            if not data or self._received.endswith(b"\n"):
                return True
        return False

    def report(self) -> Report:
        """What it reported; when it died or hangs, what can be said instead, with its work done here."""
        if self._received.endswith(b"\n"):
            return Report(**json.loads(self._received))
        self._give_up()
        return Report(ended_by="signal", signal="KILL", error="the supervisor died", swept=self._swept)

    def __exit__(self, *exception: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()  # it takes this as the end of its parent
        try:
            self._process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._give_up()
        self._process.stdout.close()

    def _give_up(self) -> None:
        """Its death is its agent's death; what the agent left carries the marker."""
        kill_group(self._process.pid)
        self._process.wait()
        self._swept = sweep(self._task.marker)


@contextlib.contextmanager
def _interruptions() -> Iterator[list[int]]:
    """The signals that ask this process to end, collected instead of obeyed."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    heard = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    numbers = [number for number in heard if signal.getsignal(number) != signal.SIG_IGN]  # nohup(1)
    before = [signal.signal(number, lambda number, _: received.append(number)) for number in numbers]
    try:
        yield received
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
