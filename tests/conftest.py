"""What every test gets: a folder with a space and an accent in its name, and a clean environment."""

from __future__ import annotations

import compileall
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.git import Git
from tests.support.sample import Sample, make, write_config

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    """Compile our modules once: where PYTHONDONTWRITEBYTECODE is set, each command would do it anew."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "lib", quiet=2)


@pytest.fixture(scope="session", autouse=True)
def clean_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """None of the caller's variables that change what git or we do, and no files of the caller's home."""
    with pytest.MonkeyPatch.context() as patched:
        for name in list(os.environ):
            if name.startswith(("GIT_", "XDG_", "ENT_AGENT", "ENT_RUN", "SSH_", "FORDJENT")):
                patched.delenv(name)
        patched.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a test, and its current folder."""
    folder = tmp_path / "a plàce"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def made_sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """What `sample` is a copy of."""
    return make(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def sample(place: Path, made_sample: Sample) -> Sample:
    """The sample repository: a bare origin with a code branch and an entomologist branch."""
    origin = place / made_sample.origin.name
    shutil.copytree(made_sample.origin, origin, symlinks=True)
    return Sample(origin, Git(origin, person=made_sample.git.person))


@pytest.fixture
def config_file(place: Path, sample: Sample) -> Path:
    """A config.toml for the sample repository, with everything below `place`."""
    return write_config(place, sample.url)
