"""Runs the .bats files here, so that pytest's summary counts them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness import process

FOLDER = Path(__file__).parent


@pytest.mark.timeout(420)
@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.bats")))
def test_bats(file: str) -> None:
    bats = Path(sys.prefix) / "bin/bats"
    ran = process.run([bats, "--timing", FOLDER / file], timeout_seconds=400)
    assert ran.ok, ran.text + ran.error_text
