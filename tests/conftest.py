"""What every test gets: a folder with a space and an accent in its name, and a clean environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.sample import Sample, make, write_config


@pytest.fixture(autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and none of the caller's variables that change what git or we do."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("GIT_", "XDG_", "ENT_AGENT", "ENT_RUN", "SSH_", "FORDJENT")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a test, and its current folder."""
    folder = tmp_path / "a plàce"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def sample(place: Path) -> Sample:
    """The sample repository: a bare origin with a code branch and an entomologist branch."""
    return make(place)


@pytest.fixture
def config_file(place: Path, sample: Sample) -> Path:
    """A config.toml for the sample repository, with everything below `place`."""
    return write_config(place, sample.url)
