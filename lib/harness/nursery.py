"""Python commands as forks of one process that has loaded them: a start costs milliseconds, not a tenth of a second.

    python nursery.py SOCKET PARENT_PID MODULE…      started by `Nursery`, which talks to it on SOCKET

A child is what the command would be on its own: a process in a session of its own that runs
the executable's file from its beginning, with its own arguments and streams. It is forked
from a process of one thread that does nothing but wait. That dies with the process that
wants the children (PR_SET_PDEATHSIG), and they can ask to die with it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NoReturn

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from harness.process import die_with_parent, hide_memory, kill_group, name_process

MESSAGE_BYTES = 64 * 1024
WORD_BYTES = 16


class Nursery:
    """The process that forks, as who wants its children sees it. Safe to use from several threads."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Start it; `modules` are those that its children will need. It ends with `close`, or with this process."""
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), str(os.getpid()), *modules],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def load(self, modules: Sequence[str]) -> None:
        """Have more modules for later children; loaded while the present ones work."""
        with contextlib.suppress(OSError):  # it is dead, which `start` tells
            self._requests.send(json.dumps(modules).encode())

    def start(self, argv: Sequence[str], stdin: IO[bytes], parent_variable: str) -> Child:
        """Fork a child that runs the Python file `argv[0]`.

        `parent_variable` in its environment has the process id that it is to die with.

        Raises:
            OSError: the nursery is dead.
        """
        with contextlib.ExitStack() as theirs:
            line, their_line = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.enter_context(their_line)
            descriptors = [their_line.fileno(), stdin.fileno()]
            child = Child(line)
            for name in ("stdout", "stderr"):
                read_end, write_end = os.pipe()
                theirs.callback(os.close, write_end)
                descriptors.append(write_end)
                setattr(child, name, os.fdopen(read_end, "rb"))
            message = json.dumps([parent_variable, *argv]).encode()
            socket.send_fds(self._requests, [message], descriptors)
        return child

    def close(self) -> None:
        """Let it end when its children have ended."""
        self._requests.close()
        self._process.wait()


class Child:
    """A child: its output, and a line to the nursery, which tells of its end."""

    stdout: IO[bytes]
    stderr: IO[bytes]

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def send_signal(self, number: int) -> None:
        """Signal it, and with KILL its whole group; nothing where it has ended."""
        with contextlib.suppress(OSError):
            self._line.send(bytes([number]))

    def wait(self) -> int:
        """Its exit code, negative for a signal; what is left of its group has been killed then."""
        with self._line:
            ended = self._line.recv(WORD_BYTES)
        return int(ended) if ended else -signal.SIGKILL  # the nursery died


# ---- the process


class _Process:
    def __init__(self, requests: socket.socket) -> None:
        self.requests = requests
        self.lines: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()
        self.waker, self.woken = socket.socketpair()

    def serve(self) -> None:
        """Fork as asked, until nobody asks any more and all children have ended."""
        for end in (self.waker, self.woken):
            end.setblocking(False)
        signal.set_wakeup_fd(self.waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(self.woken, selectors.EVENT_READ, self._reap)
        self.selector.register(self.requests, selectors.EVENT_READ, self._fork)
        while self.requests.fileno() >= 0 or self.lines:
            for key, _ in self.selector.select():
                key.data()

    def _fork(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(self.requests, MESSAGE_BYTES, 4)
        if not message:
            self.selector.unregister(self.requests)
            self.requests.close()
            return
        if not descriptors:
            _load(json.loads(message))
            return
        line, *streams = descriptors
        nursery_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._leave()
            _be(json.loads(message), streams, nursery_pid)
        for descriptor in streams:
            os.close(descriptor)
        self.lines[pid] = socket.socket(fileno=line)
        self.selector.register(line, selectors.EVENT_READ, lambda: self._signal(pid))

    def _leave(self) -> None:
        """In the child: nothing of the nursery's stays."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.selector.close()
        for end in (self.requests, self.waker, self.woken, *self.lines.values()):
            end.close()

    def _signal(self, pid: int) -> None:
        line = self.lines.get(pid)
        if line is None:  # it ended in this very round
            return
        word = line.recv(WORD_BYTES)
        if not word:  # nobody waits for it any more
            self.selector.unregister(line)
        elif word[0] == signal.SIGKILL:
            kill_group(pid)
        else:
            os.kill(pid, word[0])

    def _reap(self) -> None:
        """Tell of each child that ended; its group is killed first, while its number cannot be another's."""
        self.woken.recv(4096)
        while self.lines and (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
            kill_group(found.si_pid)
            _, status = os.waitpid(found.si_pid, 0)
            line = self.lines.pop(found.si_pid)
            with contextlib.suppress(KeyError):
                self.selector.unregister(line)
            with line, contextlib.suppress(OSError):
                line.send(str(os.waitstatus_to_exitcode(status)).encode())


def _be(request: list[str], streams: list[int], nursery_pid: int) -> NoReturn:
    """Be the command, from its file's first line to its exit code."""
    exit_code: object = 0
    try:
        os.setsid()
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        parent_variable, *sys.argv = request
        os.environ[parent_variable] = str(nursery_pid)
        sys.path[0] = str(Path(sys.argv[0]).parent)
        name_process(Path(sys.argv[0]).name)
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        exit_code = ended.code
    except BaseException:
        traceback.print_exc()
        exit_code = 1
    if isinstance(exit_code, str):
        print(exit_code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(exit_code if isinstance(exit_code, int) else int(exit_code is not None))


def _load(modules: Sequence[str]) -> None:
    for name in modules:
        importlib.import_module(name)
    gc.freeze()  # so that collecting in a child does not copy what all have


def main() -> None:
    requests, parent_pid, *modules = sys.argv[1:]
    die_with_parent(int(parent_pid))
    hide_memory()  # its children's too
    _load(modules)
    _Process(socket.socket(fileno=int(requests))).serve()


if __name__ == "__main__":
    main()
