"""The one way to run another program: argv lists, bytes, a time limit, a group that ends as one."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import Missing

if TYPE_CHECKING:
    from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36


class Finished(NamedTuple):
    """What a program left: its exit code (negative: ended by that signal) and its output."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.timed_out

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        return self.stderr.decode("utf-8", "replace").strip()


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_seconds: float = 120.0,
) -> Finished:
    """Run a program to its end in a session of its own; never raises for its exit code.

    On time-out the whole process group is killed and `timed_out` is set.

    Raises:
        Missing: there is no such program.
    """
    import subprocess  # a supervisor needs the rest of this module, and must start at once

    words = tuple(os.fspath(word) for word in argv)
    try:
        child = subprocess.Popen(
            words,
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if cwd is not None and not cwd.is_dir():
            raise
        raise Missing(
            f"{words[0]} is not installed", hint=f"install {words[0]} and see that PATH has it"
        ) from error
    try:
        stdout, stderr = child.communicate(stdin, timeout=timeout_seconds)
        return Finished(words, child.returncode, stdout, stderr)
    except subprocess.TimeoutExpired:
        kill_group(child.pid)
        stdout, stderr = child.communicate()
        return Finished(words, child.returncode, stdout, stderr, timed_out=True)
    except BaseException:
        kill_group(child.pid)
        child.wait()
        raise


def kill_group(pid: int, with_signal: int = signal.SIGKILL) -> None:
    """Signal the process group that `pid` leads, if it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, with_signal)


def die_with_parent(parent_pid: int, with_signal: int = signal.SIGTERM) -> None:
    """Ask the kernel to signal this process when its parent ends (Linux, prctl(2)).

    `parent_pid` is the parent as the caller knows it: when it is gone already,
    this process ends here.
    """
    _prctl(PR_SET_PDEATHSIG, with_signal)
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), with_signal)


def become_subreaper() -> None:
    """Have orphans below this process come to it, not to init (Linux, prctl(2))."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """Keep other processes of the same user out of this one's memory and environment (prctl(2))."""
    _prctl(PR_SET_DUMPABLE, 0)


def name_process(name: str) -> None:
    """What ps and top call this process: the first 15 bytes of `name` (prctl(2))."""
    _prctl(PR_SET_NAME, name.encode())


def _prctl(option: int, value: int | bytes) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
