"""git objects: read through one `git cat-file --batch-command` process, written by `git hash-object`.

Trees are dicts from name (bytes) to `Entry(mode, oid)`.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import BadData
from harness.git import GitFailed, Person
from harness.process import Finished

if TYPE_CHECKING:
    from harness.git import Git

TREE = 0o40000
FILE = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000
GITLINK = 0o160000

_ENTRY = {width: re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % width, re.DOTALL) for width in (20, 32)}
_PIPE_BYTES = 60_000  # two chunks of requests, sent ahead of the answers, must fit a pipe's 64 KiB


class Entry(NamedTuple):
    """One line of a tree."""

    mode: int
    oid: str

    @property
    def is_tree(self) -> bool:
        return self.mode == TREE

    @property
    def is_file(self) -> bool:
        return self.mode in (FILE, EXECUTABLE)


Tree = dict[bytes, Entry]


class Objects:
    """The objects of one repository. A read within a read, or in another thread, gets a process of its own."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._idle: list[subprocess.Popen[bytes]] = []

    # ---- read

    def read(self, oid: str) -> bytes:
        """The content of an object (an id, or any name that `cat-file` resolves).

        Raises:
            BadData: there is no such object.
        """
        return next(self.read_many([oid]))

    def resolve(self, name: str) -> str | None:
        """The id that a full ref name stands for just now, without a process of its own; None: no such ref."""
        reader = self._take_reader()
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
        self._idle.append(reader)
        return words[0].decode("ascii") if len(words) == 3 and words[2].isdigit() else None

    def read_many(self, oids: Iterable[str]) -> Iterator[bytes]:
        """The contents of many objects, in order; requests are sent ahead of the answers.

        Raises:
            BadData: one of them is not there.
        """
        pending = list(oids)
        answers = itertools.chain.from_iterable(self._answers(pending))
        for oid, data in zip(pending, answers, strict=True):
            if data is None:
                raise BadData(f"object {oid} is not in {self._git.git_dir}")
            yield data

    def find_many(self, oids: Sequence[str]) -> Iterator[bytes | None]:
        """The contents of many objects, in order; None for those that are not there."""
        return itertools.chain.from_iterable(self._answers(oids))

    def tree(self, oid: str) -> Tree:
        return parse_tree(self.read(oid), len(oid) // 2)

    def trees(self, oids: Iterable[str]) -> Iterator[Tree]:
        pending = list(oids)
        width = len(pending[0]) // 2 if pending else 20
        return (parse_tree(data, width) for data in self.read_many(pending))

    def tree_of(self, commit: str) -> str:
        """The id of a commit's root tree."""
        data = self.read(commit)
        if not data.startswith(b"tree "):
            raise BadData(f"{commit} is not a commit")
        return data[5 : data.index(b"\n")].decode("ascii")

    # ---- write

    def write(self, kind: str, data: bytes) -> str:
        """Store an object ("blob" or "tree") and return its id."""
        return self._git.text("hash-object", "-w", "-t", kind, "--stdin", stdin=data)

    def write_many(self, objects: Sequence[tuple[str, bytes]], oid_bytes: int = 20) -> list[str]:
        """Store many objects (kind, content) with one process, and return their ids."""
        from harness.packing import object_id, pack

        if objects:
            self._git.run("unpack-objects", "-q", stdin=pack(objects, oid_bytes))
        return [object_id(kind, data, oid_bytes) for kind, data in objects]

    def write_tree(self, tree: Mapping[bytes, Entry]) -> str:
        return self.write("tree", format_tree(tree))

    def write_commit(
        self,
        tree: str,
        parents: Iterable[str],
        message: str,
        *,
        author: Person | None = None,
        timestamp: int | None = None,
        sign: bool = False,
    ) -> str:
        """Store a commit (`git commit-tree`) and return its id.

        The message is cleaned as `git commit` does it (git-stripspace(1)).
        `timestamp` (seconds since the epoch) stands for author and committer time.
        """
        args = [word for parent in parents for word in ("-p", parent)]
        env: dict[str, str] = {}
        if author:
            env |= {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.email}
        if timestamp is not None:
            env |= {"GIT_AUTHOR_DATE": f"@{timestamp} +0000", "GIT_COMMITTER_DATE": f"@{timestamp} +0000"}
        signing = ["-S"] if sign else []
        return self._git.run(
            "commit-tree", *signing, *args, tree, stdin=clean(message).encode(), env=env
        ).text.strip()

    # ---- the process

    def close(self) -> None:
        while self._idle:
            _end(self._idle.pop())

    def _take_reader(self) -> subprocess.Popen[bytes]:
        while self._idle:
            reader = self._idle.pop()
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

    def _answers(self, oids: Sequence[str]) -> Iterator[list[bytes | None]]:
        """What `cat-file` says, a chunk of requests at a time; while one is read the next is on its way."""
        reader = self._take_reader()
        asked = 0
        try:
            for chunk in _chunks(oids):
                _ask(reader, chunk)
                before, asked = asked, len(chunk)
                if before:
                    yield self._read(reader, before)
            if asked:
                last = self._read(reader, asked)
                asked = 0
                yield last
        except BrokenPipeError as error:
            raise self._no_answer() from error
        finally:
            if asked or reader.poll() is not None:  # left half-way: the next would get these answers
                _end(reader)
            else:
                self._idle.append(reader)

    def _read(self, reader: subprocess.Popen[bytes], count: int) -> list[bytes | None]:
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


def parse_tree(data: bytes, oid_bytes: int = 20) -> Tree:
    """A tree object's content; `oid_bytes` is 32 in a SHA-256 repository."""
    return {name: Entry(int(mode, 8), oid.hex()) for mode, name, oid in split_tree(data, oid_bytes)}


def split_tree(data: bytes, oid_bytes: int = 20) -> list[tuple[bytes, bytes, bytes]]:
    """The same as it stands there: mode in octal digits, name, object id; for trees of thousands of entries."""
    return _ENTRY[oid_bytes].findall(data)


def format_tree(tree: Mapping[bytes, Entry]) -> bytes:
    """The inverse of `parse_tree`, in git's order (a folder sorts as if its name ended in /)."""

    def place(item: tuple[bytes, Entry]) -> bytes:
        return item[0] + b"/" if item[1].is_tree else item[0]

    return b"".join(
        b"%o %s\0" % (entry.mode, name) + bytes.fromhex(entry.oid)
        for name, entry in sorted(tree.items(), key=place)
    )


def clean(message: str) -> str:
    """A commit message as `git commit` cleans it (git-stripspace(1)): no blanks at line ends, no runs of blank lines.

    NUL, which a commit cannot hold, is left out.
    """
    lines = [line.rstrip(" \t\n\r") for line in message.replace("\0", "").split("\n")]
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    text = "\n".join(kept).strip("\n")
    return text and text + "\n"


def _chunks(oids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs of requests, two of which fit a pipe."""
    longest = max((len(oid.encode()) for oid in oids), default=0) + len("contents \n")
    size = max(1, (_PIPE_BYTES // 2 - len("flush\n")) // longest)
    return (oids[start : start + size] for start in range(0, len(oids), size))


def _ask(reader: subprocess.Popen[bytes], oids: Sequence[str]) -> None:
    assert reader.stdin
    reader.stdin.write(("contents " + "\ncontents ".join(oids) + "\nflush\n").encode())
    reader.stdin.flush()


def _end(reader: subprocess.Popen[bytes]) -> None:
    reader.kill()
    reader.wait()
    for pipe in (reader.stdin, reader.stdout):
        if pipe:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
