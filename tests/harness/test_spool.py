from __future__ import annotations

from pathlib import Path

from harness.spool import Spool


def test_what_fits_is_written_at_once(place: Path) -> None:
    spool = Spool(place / "log", head_bytes=10, tail_bytes=4)
    spool.write(b"0123")
    assert (place / "log").read_bytes() == b"0123"
    spool.write(b"456789")
    spool.close()
    assert (place / "log").read_bytes() == b"0123456789"


def test_of_what_does_not_fit_the_end_is_kept_and_the_gap_is_said(place: Path) -> None:
    spool = Spool(place / "log", head_bytes=4, tail_bytes=4)
    for letter in b"abcdefghijklmnop":
        spool.write(bytes([letter]))
    assert spool.received == 16
    spool.close()
    assert (place / "log").read_bytes() == b"abcd\n[8 bytes are left out here]\nmnop"


def test_nothing_is_said_to_be_missing_when_head_and_tail_meet(place: Path) -> None:
    spool = Spool(place / "log", head_bytes=4, tail_bytes=4)
    spool.write(b"abcdefgh")
    spool.close()
    assert (place / "log").read_bytes() == b"abcdefgh"


def test_a_full_disk_does_not_end_the_run() -> None:
    spool = Spool(Path("/dev/full"))
    spool.write(b"x")
    spool.write(b"y")
    spool.close()
    assert spool.problem == "the transcript could not be written: No space left on device"
    assert spool.received == 2
