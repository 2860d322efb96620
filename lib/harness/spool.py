"""A transcript that cannot fill the disk: the beginning and the end of what came, as bytes."""

from __future__ import annotations

import os
from collections import deque

HEAD_BYTES = 32 * 1024 * 1024
TAIL_BYTES = 16 * 1024 * 1024


class Spool:
    """Writes through to `path` up to `head_bytes`; of what comes later the newest is added at the end.

    `received` counts all bytes that came. A full disk does not raise: `problem` says it.
    """

    def __init__(
        self, path: str | os.PathLike[str], head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES
    ) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._room = head_bytes
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._tail_bytes = tail_bytes
        self._left_out = 0
        self.received = 0
        self.problem = ""

    def write(self, data: bytes) -> None:
        self.received += len(data)
        self._store(data[: self._room])
        late = data[self._room :]
        self._room -= len(data) - len(late)
        if late:
            self._tail.append(late)
            self._tail_size += len(late)
            while self._tail_size - len(self._tail[0]) >= self._tail_bytes:
                dropped = self._tail.popleft()
                self._tail_size -= len(dropped)
                self._left_out += len(dropped)

    def close(self) -> None:
        if self._left_out:
            self._store(f"\n[{self._left_out} bytes are left out here]\n".encode())
        for data in self._tail:
            self._store(data)
        self._tail.clear()
        os.close(self._file)

    def _store(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view and not self.problem:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            self.problem = f"the transcript could not be written: {error.strerror}"
