"""The small process between a loop and its agent: whichever of the three ends, the rest ends too.

    main(parent_pid)      in a process of its own, a Task as one line of JSON on stdin, then words

The agent gets a session and process group of its own and dies with this process
(PR_SET_PDEATHSIG); its orphans come to this process (PR_SET_CHILD_SUBREAPER), which
ends them. When stdin ends, or the parent dies, everything is killed at once. The words
"stop" (the ladder) and "kill" come from the parent; a Report goes to stdout at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import time
from collections.abc import Sequence
from typing import NamedTuple

from harness import bounds, spawning, sweeping
from harness.bounds import GLANCE_SECONDS, Bounds, Look, end_below
from harness.process import become_subreaper, die_with_parent, kill_group
from harness.process_table import children
from harness.spool import Spool

CHUNK = 1024 * 1024
DRAIN_SECONDS = 2.0
SETTLING_SECONDS = 0.5
REAPED = 256
"""Orphans that are reaped in a row: a bomb makes new ones without end."""

DEADLY = (
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGKILL,
    signal.SIGSEGV,
    signal.SIGSYS,
    signal.SIGTRAP,
    signal.SIGXFSZ,
)
"""Signals that a sandbox's exit code of 128 and more stands for; with INT and TERM it may be the agent's own."""


class Task(NamedTuple):
    """What to run, and its limits in seconds (`silence_seconds` 0: none).

    `stderr` "": together with stdout. `wrapped`: `argv` is a sandbox that must not get
    the stop signal itself, for it would take the agent with it.
    """

    argv: list[str]
    cwd: str
    env: dict[str, str]
    stdin: str
    stdout: str
    stderr: str
    timeout_seconds: float
    silence_seconds: float
    grace_seconds: float
    progress: list[str]
    stop_signal: str
    marker: str
    wrapped: bool
    processes: int
    memory_bytes: int
    file_bytes: int


class Report:
    """`ended_by`: exit, timeout, silence, bounds, stopped (by the parent's word) or start_failed."""

    def __init__(
        self,
        ended_by: str = "exit",
        exit_code: int | None = None,
        signal: str | None = None,
        error: str = "",
        swept: Sequence[int] = (),
    ) -> None:
        self.ended_by = ended_by
        self.exit_code = exit_code
        self.signal = signal
        self.error = error
        self.swept = list(swept)


class Supervisor:
    def __init__(self, task: Task, words: bytes = b"") -> None:
        self.task = task
        self.words = words
        self.report = Report()
        self.spools: dict[str, Spool] = {}
        self.selector = selectors.DefaultSelector()
        self.stop_deadline: float | None = None
        self.orphaned = False
        self.started = self.last_sign = time.monotonic()
        self.signs: tuple[object, ...] = ()
        self.open_outputs = 0
        self.pid = 0
        most = Bounds(task.processes, task.memory_bytes, task.file_bytes)
        self.look = Look(most, {task.cwd, task.env.get("TMPDIR", task.cwd)})

    # ---- the course of it

    def supervise(self) -> Report:
        try:
            self.pid = self._start()
        except OSError as error:
            self.report.ended_by = "start_failed"
            self.report.error = f"{error.filename}: {error.strerror}"
            return self.report
        self.selector.register(0, selectors.EVENT_READ, self._listen)
        self._obey()
        while not self._has_exited():
            self._wait(GLANCE_SECONDS)
            self._keep_limits()
        self._end_everything()
        self._drain()
        self._note_status(os.waitpid(self.pid, 0)[1])
        self._reap_orphans()
        return self.report

    def _keep_limits(self) -> None:
        now = time.monotonic()
        if self.orphaned or (self.stop_deadline is not None and now >= self.stop_deadline):
            kill_group(self.pid)
            self._sweep()
        elif self.stop_deadline is None and (excess := self.look.excess(now)):
            self.report.error = excess
            self.report.ended_by, self.stop_deadline = "bounds", now
            kill_group(self.pid)  # a sandbox goes with all that is in it
            end_below(os.getpid())
            self._sweep()
        elif self.stop_deadline is not None:
            return
        elif now - self.started >= self.task.timeout_seconds:
            self._stop("timeout")
        elif self._is_silent(now):
            self._stop("silence")

    def _stop(self, ended_by: str) -> None:
        """The first rung of the ladder."""
        if self.stop_deadline is not None:
            return
        self.report.ended_by = ended_by
        self.stop_deadline = time.monotonic() + self.task.grace_seconds
        for group in self._groups():
            kill_group(group, signal.Signals[f"SIG{self.task.stop_signal}"])

    def _groups(self) -> set[int]:
        """The process groups that the stop signal goes to."""
        if self.task.wrapped:
            with contextlib.suppress(ProcessLookupError):
                inner = {os.getpgid(child) for child in children(self.pid)}
                if inner - {self.pid}:
                    return inner - {self.pid}
        return {self.pid}

    def _is_silent(self, now: float) -> bool:
        if not (self.task.silence_seconds and self.task.progress):
            return False
        signs = tuple(self._sign(path) for path in self.task.progress)
        if signs != self.signs:
            self.signs, self.last_sign = signs, now
        return now - self.last_sign >= self.task.silence_seconds

    def _sign(self, path: str) -> object:
        if path in self.spools:
            return self.spools[path].received
        try:
            about = os.stat(path)  # noqa: PTH116
        except OSError:
            return None
        return about.st_size, about.st_mtime_ns

    # ---- what comes in

    def _wait(self, seconds: float) -> None:
        for key, _ in self.selector.select(seconds):
            key.data()

    def _listen(self) -> None:
        data = os.read(0, 4096)
        if not data:
            self.orphaned = True
            self.selector.unregister(0)
        self.words += data
        self._obey()

    def _obey(self) -> None:
        *words, self.words = self.words.split(b"\n")
        for word in words:
            self._stop("stopped")
            if word == b"kill":
                self.stop_deadline = time.monotonic()

    def _read_output(self, descriptor: int, spool: Spool) -> None:
        data = os.read(descriptor, CHUNK)
        if data:
            spool.write(data)
        else:
            self.selector.unregister(descriptor)
            os.close(descriptor)
            self.open_outputs -= 1

    # ---- the child

    def _start(self) -> int:
        """Start the agent.

        Raises:
            OSError: it could not be started.
        """
        task = self.task
        outputs = {
            path: self._output(path) for path in dict.fromkeys((task.stdout, task.stderr or task.stdout))
        }
        try:
            return spawning.start(
                task.argv,
                cwd=task.cwd,
                env=task.env,
                stdin=task.stdin or os.devnull,
                stdout=outputs[task.stdout],
                stderr=outputs[task.stderr or task.stdout],
                file_bytes=task.file_bytes,
            )
        finally:
            for descriptor in outputs.values():
                os.close(descriptor)

    def _output(self, path: str) -> int:
        """The write end of a pipe whose other end is spooled to `path`."""
        read_end, write_end = os.pipe()
        spool = self.spools[path] = Spool(path)
        self.open_outputs += 1
        self.selector.register(read_end, selectors.EVENT_READ, lambda: self._read_output(read_end, spool))
        return write_end

    def _has_exited(self) -> bool:
        """Whether the agent ended; it stays a zombie, so that its group's number is not given anew."""
        for _ in range(REAPED):
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None:
                return False
            if found.si_pid == self.pid:
                return True
            os.waitpid(found.si_pid, 0)
        return False

    # ---- the end

    def _end_everything(self) -> None:
        kill_group(self.pid)
        if self.task.wrapped:
            # bwrap ends before the last of its process namespace has, which the kernel is ending
            deadline = time.monotonic() + SETTLING_SECONDS
            while any(map(sweeping.is_alive, sweeping.orphans(os.getpid()))) and time.monotonic() < deadline:
                time.sleep(0.005)
        self._sweep()

    def _sweep(self) -> None:
        def left() -> list[int]:
            return sweeping.orphans(os.getpid()) + sweeping.marked(self.task.marker)

        self.report.swept += sweeping.end_all(left, reap=self._has_exited)

    def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline and self.open_outputs:
            self._wait(0.1)
        for spool in self.spools.values():
            spool.close()
            self.report.error = self.report.error or spool.problem

    def _reap_orphans(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def _note_status(self, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        if self.task.wrapped and code - 128 in DEADLY:
            code = 128 - code
        if code < 0:
            self.report.signal = signal.Signals(-code).name.removeprefix("SIG")
        else:
            self.report.exit_code = code


def main(parent_pid: int) -> None:
    woken, waker = os.pipe()
    for end in (waker, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    ending: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _: ending.append(received))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    die_with_parent(parent_pid)
    become_subreaper()
    bounds.come_first()
    received = b""
    while b"\n" not in received:
        data = os.read(0, CHUNK)
        if not data or ending:
            return
        received += data
    line, _, words = received.partition(b"\n")
    supervisor = Supervisor(Task(**json.loads(line)), words)

    def wake() -> None:
        os.read(woken, 4096)
        supervisor.orphaned = supervisor.orphaned or bool(ending)

    supervisor.selector.register(woken, selectors.EVENT_READ, wake)
    report = supervisor.supervise()
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(vars(report)).encode() + b"\n")
