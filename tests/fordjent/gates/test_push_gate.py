"""Gate 4: the forge's branch becomes the session's, and nothing that the session has not seen is overwritten."""

from __future__ import annotations

import pytest

from fordjent.gates import push
from fordjent.gates.gate import Blocked, Passed
from fordjent.session_key import SessionKey
from fordjent.workspaces.place import Place
from fordjent.workspaces.workspaces import Workspaces
from harness import process
from harness.errors import TryLater
from harness.redaction import Redactor
from tests.support.proposals import REPOSITORY, Desk
from tests.support.workshop import agent, commit


def verdict(at: Desk, place: Place) -> Passed | Blocked:
    return at.run(push.check(at.proposal(place)))


def test_the_branch_is_pushed_and_again_it_is_there(at: Desk) -> None:
    place = at.issue()
    made = commit(place, {"c.txt": "c\n"})
    assert verdict(at, place) == Passed(gate="push", commit=made)
    assert at.on_forge(place.branch) == made
    assert verdict(at, place) == Passed(gate="push", commit=made, note="it was there already")


def test_a_branch_that_somebody_made_meanwhile_is_not_overwritten(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    theirs = at.alice.push(REPOSITORY, place.branch, {"theirs.txt": "t\n"})
    found = verdict(at, place)
    assert isinstance(found, Blocked) and "somebody pushed" in found.reason
    assert at.on_forge(place.branch) == theirs


def test_what_we_pushed_ourselves_may_be_rewritten(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    verdict(at, place)
    agent(place, "commit", "-q", "--amend", "-m", "[agent-automation] Better")
    assert isinstance(verdict(at, place), Passed)
    assert at.on_forge(place.branch) == place.head()


def test_a_secret_is_held_also_where_no_gate_was_before(at: Desk) -> None:
    place = at.issue()
    commit(place, {"key.txt": f"{at.config.forgejo.token}\n"})
    found = verdict(at, place)
    assert isinstance(found, Blocked) and at.on_forge(place.branch) == ""


def test_what_only_looks_like_a_secret_is_named_with_what_lets_it_pass(at: Desk) -> None:
    place, example = at.issue(), "AKIA" + "QWERTYUIOPASDFGH"
    commit(place, {"example.txt": f"{example}\n"})
    found = verdict(at, place)
    (finding,) = Redactor().scan(example.encode())
    assert isinstance(found, Blocked) and finding.fingerprint in str(found) and example not in str(found)
    assert "secret_scan.allow of config.toml" in str(found)
    place.rules.redactor.allow([finding.fingerprint])
    assert isinstance(verdict(at, place), Passed)


@pytest.mark.parametrize("branch", ["main", "release/1"])
def test_nothing_is_ever_pushed_to_a_protected_branch(at: Desk, branch: str) -> None:
    at.alice.push(REPOSITORY, "release/1", {"r.txt": "r\n"})
    place = at.workspaces.prepare(SessionKey(REPOSITORY, "issues", 5), branch)
    before = at.on_forge(branch)
    commit(place, {"c.txt": "c\n"})
    found = push.push(place, ["release/*"])
    assert isinstance(found, Blocked) and at.on_forge(branch) == before


def test_an_answer_that_was_lost_is_asked_for(at: Desk) -> None:
    place = at.issue()
    made = commit(place, {"c.txt": "c\n"})
    at.forge.fail_next("POST", "git-receive-pack", "lost")
    assert verdict(at, place) == Passed(gate="push", commit=made)
    assert at.on_forge(place.branch) == made


def test_a_forge_that_does_not_answer_is_for_later(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    at.forge.down()
    with pytest.raises(TryLater):
        verdict(at, place)
    at.forge.up()
    assert isinstance(verdict(at, place), Passed)


def test_a_token_without_the_right_says_so(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    at.forge.world.repositories[REPOSITORY].collaborators["fordjent"] = "read"
    found = verdict(at, place)
    assert isinstance(found, Blocked) and "may write" in found.what_to_do


def test_a_branch_that_the_forge_protects_says_so(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n"})
    at.alice.protect(REPOSITORY, place.branch, enable_push=False)
    found = verdict(at, place)
    assert isinstance(found, Blocked) and "protected branch" in found.reason


def test_a_wrong_token_is_told_and_never_shown(at: Desk) -> None:
    wrong = "wrong-token-0123456789"
    workspaces = Workspaces(at.config, at.forge.url, wrong)
    with pytest.raises(TryLater) as raised:
        workspaces.fetch(REPOSITORY)
    assert raised.value.code == "permission_denied" and wrong not in raised.value.message


def test_no_other_host_is_told_the_token(at: Desk) -> None:
    git = at.workspaces.pair(REPOSITORY).git
    at.workspaces.fetch(REPOSITORY)
    for host, expected in ((at.forge.url.removeprefix("http://"), True), ("127.0.0.1:1", False)):
        asked = f"protocol=http\nhost={host}\n\n".encode()
        filled = process.run(["git", "credential", "fill"], stdin=asked, env=git.environment)
        assert (at.config.forgejo.token in filled.text) is expected


def test_names_of_branches_are_data(at: Desk) -> None:
    place = at.workspaces.prepare(SessionKey(REPOSITORY, "issues", 6), "fordjent/$(touch${IFS}x);'\"é")
    made = commit(place, {"c.txt": "c\n"})
    assert isinstance(verdict(at, place), Passed) and at.on_forge(place.branch) == made
