"""Gate 3: the repository's own checks, found or configured, on exactly the commit that is pushed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fordjent.config import Verify
from fordjent.gates import verify
from fordjent.gates.gate import Blocked, Passed, Verdict
from fordjent.gates.pull_requests import pass_gate
from fordjent.workspaces.place import Place
from harness.git import Git, init_bare
from tests.support.forge.server import StandIn
from tests.support.proposals import Desk, desk
from tests.support.workshop import commit


@pytest.fixture
def with_commands(place: Path, forge: StandIn) -> Iterator[Desk]:
    commands = ["echo run >> ../ran; test -f good.txt || { echo token $TOKEN; echo no good; exit 3; }"]
    with desk(place, forge, verify=Verify(commands=commands, timeout="5s")) as made:
        yield made


def verdict(at: Desk, place: Place) -> Verdict:
    return at.run(pass_gate(at.proposal(place), "verify"))


def runs(place: Place) -> int:
    return len((place.path.parent / "ran").read_text().splitlines())


def test_a_failure_shows_the_end_of_its_output(with_commands: Desk) -> None:
    place = with_commands.issue()
    made = commit(place, {"c.txt": "c\n"})
    found = verdict(with_commands, place)
    assert isinstance(found, Blocked) and found.commit == made
    assert "no good" in found.what_to_do and "exit code 3" in found.what_to_do


def test_a_commit_that_passed_is_not_checked_again(with_commands: Desk) -> None:
    place = with_commands.issue()
    commit(place, {"good.txt": "x\n"})
    assert isinstance(verdict(with_commands, place), Passed)
    assert isinstance(verdict(with_commands, place), Passed) and runs(place) == 1
    commit(place, {"c.txt": "c\n"})
    assert isinstance(verdict(with_commands, place), Passed) and runs(place) == 2


def test_one_that_takes_too_long_is_ended_with_all_it_began(place: Path, forge: StandIn) -> None:
    commands = ["sleep 60 & echo $! > ../pid; sleep 60"]
    with desk(place, forge, verify=Verify(commands=commands, timeout="300ms")) as at:
        worktree = at.issue()
        commit(worktree, {"c.txt": "c\n"})
        found = verdict(at, worktree)
        assert isinstance(found, Blocked) and "time limit" in found.reason
        pid = (worktree.path.parent / "pid").read_text().strip()
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()


def test_checks_that_change_files_are_no_proof(place: Path, forge: StandIn) -> None:
    with desk(place, forge, verify=Verify(commands=["echo more >> a.txt"])) as at:
        worktree = at.issue()
        commit(worktree, {"c.txt": "c\n"})
        found = verdict(at, worktree)
        assert isinstance(found, Blocked) and found.files == ["a.txt"]


def test_checks_see_no_secret_of_ours(place: Path, forge: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGEJO_TOKEN", "s3cret-of-the-operator")
    with desk(place, forge, verify=Verify(commands=["env > ../env"])) as at:
        worktree = at.issue()
        commit(worktree, {"c.txt": "c\n"})
        assert isinstance(verdict(at, worktree), Passed)
        seen = (worktree.path.parent / "env").read_text()
        assert "s3cret" not in seen and at.config.forgejo.token not in seen


def test_a_tree_without_checks_passes_and_says_so(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    found = verdict(at, place)
    assert isinstance(found, Passed) and found.note == "there was nothing to run"


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({"go.mod": "module x\n"}, ["go build ./...", "go test ./...", "golangci-lint run"]),
        ({"Cargo.toml": ""}, ["cargo test"]),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, ["npm test"]),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, []),
        ({"package.json": "no json"}, []),
        ({"pytest.ini": ""}, ["pytest -q"]),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ["pytest -q"]),
        ({"pyproject.toml": "[project]\n"}, []),
        ({"pyproject.toml": "[project]\n", "tests/test_a.py": ""}, ["pytest -q"]),
        ({"Makefile": "all:\n\ntest: all\n"}, ["make test"]),
        ({"Makefile": "test := x\n"}, []),
        ({"Makefile": "test:\n", "Cargo.toml": ""}, ["cargo test"]),
        ({"README.md": ""}, []),
    ],
)
def test_what_a_tree_says_of_its_checks(place: Path, files: dict[str, str], commands: list[str]) -> None:
    init_bare(place / "x.git")
    git = Git(place / "x.git")
    environment = {"GIT_INDEX_FILE": str(place / "index")}
    for name, text in files.items():
        blob = git.objects.write("blob", text.encode())
        git.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", env=environment)
    tree = git.run("write-tree", env=environment).text.strip()
    assert [one.command for one in verify.found_in(git, tree)] == commands
