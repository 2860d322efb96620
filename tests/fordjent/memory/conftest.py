from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forge.server import StandIn
from tests.support.proposals import Desk, desk


@pytest.fixture
def forge(place: Path) -> Iterator[StandIn]:
    with StandIn.start(place / "forge") as standing:
        yield standing


@pytest.fixture
def at(place: Path, forge: StandIn) -> Iterator[Desk]:
    with desk(place, forge) as made:
        yield made
