"""Hosts of one agent: each has a state folder of its own on the same origin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.claims import claim_value
from ent_agent.claims.claims import Claim
from ent_agent.config import Config
from ent_agent.repositories import looking, repositories
from ent_agent.running import runs
from ent_agent.running.runs import Run
from harness import lock
from harness.git import Git, Person
from tests.support.sample import Sample, configuration


@dataclass
class Host:
    """One host, synced once."""

    config: Config
    machine: str
    monkeypatch: pytest.MonkeyPatch

    @property
    def git(self) -> Git:
        return Git(state.of(self.config).control, person=Person("Robo", "robo@example.org"))

    @contextmanager
    def acting(self) -> Iterator[None]:
        """The calls inside are this host's."""
        with self.monkeypatch.context() as patched:
            patched.setattr(claim_value, "machine_id", lambda: self.machine)
            yield

    def look(self) -> None:
        with self.acting():
            looking.look(self.config, self.git)

    def take(self, issue_id: str) -> Claim:
        """Claim an issue under its lock, which is let go when the call returns: as if the step had died."""
        run = runs.create(self.config, issue_id)
        with self.acting(), lock.held(state.of(self.config).issue_lock(issue_id)):
            return Claim.take(self.config, self.git, issue_id, run)

    def resume(self, run: Run) -> Claim:
        with self.acting():
            return Claim.resume(self.config, self.git, run)


def host(folder: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch, **keys: str) -> Host:
    """A host whose state is in `folder`, with an agent key of its own."""
    folder.mkdir(exist_ok=True)
    config = configuration(folder, sample.url, **keys)
    with repositories.locked(config):
        repositories.set_up(config)
    made = Host(config, folder.name, monkeypatch)
    made.look()
    return made
