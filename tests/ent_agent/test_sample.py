"""The sample repository is what it says: readable by git, in all states, and changed by a person at will."""

from __future__ import annotations

from pathlib import Path

from ent_agent.config import load
from ent_agent.tracker.model import STATES
from tests.support import sample as support
from tests.support.sample import Sample


def test_origin_has_a_code_branch_and_an_entomologist_branch(sample: Sample) -> None:
    assert set(sample.branches()) == {"main", "entomologist-data"}
    assert sample.git.text("symbolic-ref", "HEAD") == "refs/heads/main"


def test_issues_are_in_all_states(sample: Sample) -> None:
    states = {sample.read(path) for path in sample.files() if path.endswith("/state")}
    assert states == {*STATES, "in progress"}


def test_a_person_can_change_any_path(sample: Sample) -> None:
    before = sample.branches()["entomologist-data"]
    odd = f'{support.WELSH}/tags/an "odd" tàg\\'
    sample.change({f"{support.WELSH}/state": b"done", odd: b"", f"{support.WELSH}/assignee": None})
    assert sample.read(f"{support.WELSH}/state") == "done"
    assert sample.read(odd) == ""
    assert sample.read(f"{support.WELSH}/assignee") is None
    assert sample.git.is_ancestor(before, sample.branches()["entomologist-data"])


def test_the_configuration_loads(sample: Sample, config_file: Path) -> None:
    config = load(str(config_file))
    assert config.repo_url == sample.url
    assert config.folder(config.state_dir) == config_file.parent / "state"
