"""A repository of a person, for the tests of what reads and writes its tracker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.git import Git, Person
from tests.support.trackers import Repository

ADA = Person("Ada Lovelace", "ada@example.org")


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The local zone is UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="session")
def made_repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """What `repository` is a copy of."""
    return Repository.make(tmp_path_factory.mktemp("repository") / "repo")


@pytest.fixture
def repository(place: Path, made_repository: Repository) -> Repository:
    return made_repository.copy(place / "repo sitory")


@pytest.fixture
def git(repository: Repository) -> Iterator[Git]:
    git = Git(repository.git_dir, person=ADA)
    yield git
    git.objects.close()
