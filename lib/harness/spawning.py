"""Start a program that cannot outlive us: its own session and group, and it is killed when we die."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Mapping, Sequence

from harness import bounds
from harness.process import die_with_parent

_AS_USUAL = (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXFSZ, signal.SIGCHLD)
"""Signals that Python or we treat in a way of our own, which a program would inherit."""


def start(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: str,
    stdout: int,
    stderr: int,
    file_bytes: int,
) -> int:
    """Start `argv` and return its process id, which leads a group; `stdin` is a path, the others descriptors.
    `file_bytes`: the most that a file may have which it writes.

    subprocess.Popen would do, but for what has to happen between fork and exec, and for
    its wish to reap by itself.

    Raises:
        OSError: it could not be started, for the reason that exec or chdir gave.
    """
    parent = os.getpid()
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            die_with_parent(parent, signal.SIGKILL)
            for number in _AS_USUAL:
                signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(stdin, os.O_RDONLY), 0)
            os.dup2(stdout, 1)
            os.dup2(stderr, 2)
            bounds.keep_in(file_bytes)
            os.chdir(cwd)
            os.execvpe(argv[0], list(argv), env)
        except OSError as error:
            os.write(write_end, json.dumps([error.errno, str(error.filename or "")]).encode())
        except ValueError:  # a NUL in a word or a variable
            os.write(write_end, json.dumps([errno.EINVAL, ""]).encode())
        finally:
            os._exit(127)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as failures:
        failure = failures.read()  # exec closes the other end
    if failure:
        os.waitpid(pid, 0)
        number, filename = json.loads(failure)
        raise OSError(number, os.strerror(number), filename or argv[0])
    return pid
