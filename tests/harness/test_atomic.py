"""Files are whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from harness import atomic


class Facts(msgspec.Struct):
    number: int = 0


def test_what_is_written_is_read(place: Path) -> None:
    atomic.write_json(place / "new/facts.json", Facts(number=3))
    assert atomic.read_json(place / "new/facts.json", Facts, Facts()) == Facts(number=3)
    assert (place / "new/facts.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [None, b"", b'{"number": 1', b'{"number": "x"}', b"\xff"])
def test_what_cannot_be_read_is_the_default(place: Path, content: bytes | None) -> None:
    if content is not None:
        (place / "facts.json").write_bytes(content)
    assert atomic.read_json(place / "facts.json", Facts, Facts(number=7)).number == 7


def test_a_failing_write_leaves_the_old_file_and_nothing_else(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    atomic.write_bytes(place / "file", b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        atomic.write_bytes(place / "file", b"new")
    assert {path.name: path.read_bytes() for path in place.iterdir()} == {"file": b"old"}


def test_kill_9_at_any_time_leaves_the_old_or_the_new(place: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from harness import atomic\n"
        "print('ready', flush=True)\n"
        "while True:\n for c in b'abc': atomic.write_bytes(Path(sys.argv[1]), bytes([c]) * 200_000)"
    )
    lib = Path(atomic.__file__).parents[1]
    atomic.write_bytes(place / "file", b"a" * 200_000)
    for wait in (0.0, 0.01, 0.03, 0.05):
        writer = subprocess.Popen(
            [sys.executable, "-c", script, str(place / "file")],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(lib)},
        )
        assert writer.stdout and writer.stdout.readline()
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        content = (place / "file").read_bytes()
        assert len(content) == 200_000 and len(set(content)) == 1
