from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import grounds
from tests.support.grounds import Workbench


@pytest.fixture
def bench(place: Path) -> Workbench:
    return grounds.make(place)


@pytest.fixture
def open_bench(place: Path) -> Workbench:
    """Without a sandbox: what the tools themselves keep apart."""
    return grounds.make(place, '[sandbox]\nbackend = "none"\n')
