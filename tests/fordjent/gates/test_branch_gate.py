"""Gate 1: what is not on the session's branch, not committed, or must stay here, is named."""

from __future__ import annotations

import pytest

from fordjent.gates import branch
from fordjent.gates.gate import Blocked, Passed
from fordjent.gates.protection import is_protected
from tests.support.proposals import Desk
from tests.support.workshop import agent, commit


def verdict(at: Desk, place: object, **more: object) -> Passed | Blocked:
    return at.run(branch.check(at.proposal(place, **more)))  # type: ignore[arg-type]


def blocked(at: Desk, place: object, **more: object) -> Blocked:
    found = verdict(at, place, **more)
    assert isinstance(found, Blocked)
    return found


def test_committed_work_on_the_sessions_branch_passes(at: Desk) -> None:
    place = at.issue()
    made = commit(place, {"c.txt": "c\n"})
    assert verdict(at, place) == Passed(gate="branch", commit=made)
    assert isinstance(verdict(at, place, head=place.branch, base="main"), Passed)


def test_what_is_wrong_is_named_one_thing_at_a_time(at: Desk) -> None:
    place = at.issue()
    assert "has no commit" in blocked(at, place).reason
    (place.path / "new.txt").write_text("new\n")
    assert blocked(at, place).files == ["new.txt"]
    (place.path / "new.txt").unlink()
    commit(place, {"c.txt": "c\n"})
    assert "protected" in blocked(at, place, head="main").reason
    assert "head is other" in blocked(at, place, head="other").reason
    assert "base is other" in blocked(at, place, base="other").reason
    agent(place, "switch", "-q", "--detach")
    assert "HEAD is not on" in blocked(at, place).reason


def test_secrets_large_files_and_what_programs_leave_are_named(at: Desk) -> None:
    place = at.issue()
    (place.path / "big.bin").write_bytes(b"\0" * (11 << 20))
    commit(
        place,
        {
            "token.txt": f"token = {at.config.forgejo.token}\n",
            "big.bin.txt": "x",
            "node_modules/left/index.js": "x\n",
            "src/__pycache__/a.pyc": "x",
        },
    )
    agent(place, "add", "big.bin")
    agent(place, "commit", "-qm", "Add it")
    assert set(blocked(at, place).files) == {
        "token.txt",
        "big.bin",
        "node_modules/left/index.js",
        "src/__pycache__/a.pyc",
    }
    assert at.config.forgejo.token not in str(blocked(at, place))


def test_a_secret_that_a_later_commit_takes_away_is_found_too(at: Desk) -> None:
    place = at.issue()
    commit(place, {"token.txt": f"token = {at.config.forgejo.token}\n"})
    agent(place, "rm", "-q", "token.txt")
    agent(place, "commit", "-qm", "Take it away")
    commit(place, {"c.txt": "c\n"})
    assert blocked(at, place).files == ["token.txt"]


@pytest.mark.parametrize(
    ("changed", "in_base", "named"),
    [
        (["dist/a.js"], [], ["dist/a.js"]),
        (["dist/a.js"], ["dist/b.js"], []),
        (["src/distance.py", "targets.txt", "core/a.py"], [], []),
        (["a.py.orig", "b.rej", ".DS_Store"], [], ["a.py.orig", "b.rej", ".DS_Store"]),
    ],
)
def test_what_looks_like_build_output(changed: list[str], in_base: list[str], named: list[str]) -> None:
    assert branch.stray(changed, in_base) == named


@pytest.mark.parametrize(
    ("name", "expected"),
    [("main", True), ("MAIN", True), ("trunk", True), ("release/1", True), ("fordjent/issue-1", False)],
)
def test_which_branches_are_protected(name: str, expected: bool) -> None:
    assert is_protected(name, ["main", "release/*"], "trunk") is expected
