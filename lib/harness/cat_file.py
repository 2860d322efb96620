"""One `git cat-file --batch-command` process that answers for thousands of objects (git 2.36)."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from harness.git import GitFailed
from harness.process import Finished

if TYPE_CHECKING:
    from harness.git import Git

T = TypeVar("T")

_MOST_IDLE = 2
"""Processes that are kept for the next question."""
_PIPE_BYTES = 60_000  # two chunks of requests, sent ahead of the answers, must fit a pipe's 64 KiB


class CatFile:
    """The process, started at the first question. One within another, or in a thread, gets its own."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._idle: list[subprocess.Popen[bytes]] = []

    def contents(self, oids: Sequence[str]) -> Iterator[list[bytes | None]]:
        """The contents of objects, in order, a chunk at a time; None for what is not there."""
        return self._answers("contents", oids, self._read_contents)

    def headers(self, oids: Sequence[str]) -> Iterator[list[bytes]]:
        """What git says of objects without reading them, in order: `<id> <kind> <size>`, or `<id> missing`."""
        return self._answers("info", oids, self._read_headers)

    def _answers(
        self, question: str, oids: Sequence[str], read: Callable[[subprocess.Popen[bytes], int], list[T]]
    ) -> Iterator[list[T]]:
        """While one chunk is read, git works on the next."""
        reader = self._take()
        asked = 0
        try:
            for chunk in _chunks(oids):
                _ask(reader, question, chunk)
                before, asked = asked, len(chunk)
                if before:
                    yield read(reader, before)
            if asked:
                last = read(reader, asked)
                asked = 0
                yield last
        except BrokenPipeError as error:
            raise self._no_answer() from error
        finally:
            if asked:  # left half-way: the next would get these answers
                _end(reader)
            else:
                self._give_back(reader)

    def resolve(self, name: str) -> str | None:
        """The id that a full ref name stands for just now, without a process of its own; None: no such ref."""
        reader = self._take()
        try:
            assert reader.stdin and reader.stdout
            reader.stdin.write(f"info {name}\nflush\n".encode())
            reader.stdin.flush()
            words = reader.stdout.readline().split()
        except BrokenPipeError as error:
            _end(reader)
            raise self._no_answer() from error
        if not words:
            _end(reader)
            raise self._no_answer()
        self._give_back(reader)
        return words[0].decode("ascii") if len(words) == 3 and words[2].isdigit() else None

    def close(self) -> None:
        while reader := self._idle_one():
            _end(reader)

    def _give_back(self, reader: subprocess.Popen[bytes]) -> None:
        if reader.poll() is None and len(self._idle) < _MOST_IDLE:
            self._idle.append(reader)
        else:
            _end(reader)

    def _idle_one(self) -> subprocess.Popen[bytes] | None:
        try:
            return self._idle.pop()
        except IndexError:  # also where another thread was quicker
            return None

    def _take(self) -> subprocess.Popen[bytes]:
        while reader := self._idle_one():
            if reader.poll() is None:
                return reader
            _end(reader)
        return subprocess.Popen(
            # with --buffer git writes once per `flush`, not once per object: twice as fast
            ["git", f"--git-dir={self._git.git_dir}", "cat-file", "--batch-command", "--buffer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=1 << 18,
            env=self._git.environment,
        )

    def _read_headers(self, reader: subprocess.Popen[bytes], count: int) -> list[bytes]:
        assert reader.stdout
        found = [reader.stdout.readline() for _ in range(count)]
        if not all(found):
            raise self._no_answer()
        return found

    def _read_contents(self, reader: subprocess.Popen[bytes], count: int) -> list[bytes | None]:
        """The next answers: `<id> <kind> <size>`, the content, a line end; or `<id> missing`."""
        assert reader.stdout
        readline, read = reader.stdout.readline, reader.stdout.read
        found: list[bytes | None] = []
        for _ in range(count):
            header = readline()
            try:
                size = int(header[header.rindex(b" ") :])
            except ValueError:
                if not header.endswith((b" missing\n", b" ambiguous\n")):
                    raise self._no_answer(header.decode("utf-8", "replace").strip()) from None
                found.append(None)
                continue
            data = read(size + 1)
            if len(data) != size + 1:
                raise self._no_answer()
            found.append(data[:-1])
        return found

    def _no_answer(self, said: str = "") -> GitFailed:
        ended = Finished(("git", "cat-file"), -1, b"", b"")
        return GitFailed(ended, message=f"git cat-file gave no answer in {self._git.git_dir} {said}".rstrip())


def _chunks(oids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs of requests, two of which fit a pipe."""
    longest = max((len(oid.encode()) for oid in oids), default=0) + len("contents \n")
    size = max(1, (_PIPE_BYTES // 2 - len("flush\n")) // longest)
    return (oids[start : start + size] for start in range(0, len(oids), size))


def _ask(reader: subprocess.Popen[bytes], question: str, oids: Sequence[str]) -> None:
    assert reader.stdin
    reader.stdin.write((f"{question} " + f"\n{question} ".join(oids) + "\nflush\n").encode())
    reader.stdin.flush()


def _end(reader: subprocess.Popen[bytes]) -> None:
    reader.kill()
    reader.wait()
    for pipe in (reader.stdin, reader.stdout):
        if pipe:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
