"""Gate 1: what is not on the session's branch, not committed, or must stay here, is named."""

from __future__ import annotations

import pytest

from fordjent.gates import branch, push
from fordjent.gates.gate import Blocked, Passed
from fordjent.gates.protection import is_protected
from tests.support.proposals import REPOSITORY, Desk
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


def test_commits_that_passed_the_hook_by_get_the_prefix_before_they_are_pushed(at: Desk) -> None:
    place = at.issue()
    first = commit(place, {"c.txt": "c\n"}, "Passed by")
    agent(place, "switch", "-qc", "aside", "HEAD~1")
    commit(place, {"d.txt": "d\n"}, "[agent-automation] As it should be")
    agent(place, "switch", "-q", place.branch)
    agent(place, "merge", "-q", "--no-ff", "-m", "Bring both together\n\nWith a body.", "aside")
    before = agent(place, "rev-parse", "HEAD")

    found = verdict(at, place)

    assert isinstance(found, Passed) and found.commit == agent(place, "rev-parse", "HEAD") != before
    told = agent(place, "log", "--format=%s", "origin/main..HEAD").splitlines()
    assert sorted(told) == [
        "[agent-automation] As it should be",
        "[agent-automation] Bring both together",
        "[agent-automation] Passed by",
    ]
    assert agent(place, "diff", "--stat", before, "HEAD") == agent(place, "status", "--short") == ""
    assert agent(place, "log", "-1", "--format=%b") == "With a body."
    assert agent(place, "log", "-1", "--format=%an %ad", first) in agent(place, "log", "--format=%an %ad")
    assert verdict(at, place) == found


def test_nothing_is_pushed_without_the_prefix_and_what_people_wrote_stays_theirs(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    assert isinstance(push.push(place, ["main"]), Passed)
    at.alice.push(REPOSITORY, place.branch, {"d.txt": "d\n"}, "A person's own words")
    place.fetch()
    agent(place, "reset", "-q", "--hard", f"origin/{place.branch}")
    place.saw(place.remote_head)
    agent(place, "rebase", "-q", "--force-rebase", f"origin/{place.base}")
    commit(place, {"e.txt": "e\n"}, "Passed by")

    assert isinstance(push.push(place, ["main"]), Passed)

    told = agent(place, "log", "-3", "--format=%s").splitlines()
    assert told == ["[agent-automation] Passed by", "A person's own words", "[agent-automation] Work"]
    assert at.on_forge(place.branch) == agent(place, "rev-parse", "HEAD")


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
