"""kill -9 after any effect on the way to a pull request: the next attempt goes on from there to the same end."""

from __future__ import annotations

import json

from tests.support.proposals import REPOSITORY, Desk
from tests.support.workshop import commit

EFFECTS = (
    "repository-fetched",
    "gate-branch",
    "move-noted",
    "worktree-files-moved",
    "worktree-branch-set",
    "branch-rebased",
    "gate-verify",
    "branch-pushed",
    "gate-push",
    "gate-merge_queue",
    "fordjent.pull",
    "gate-opening",
)


def test_killed_after_each_effect_it_ends_the_same(at: Desk) -> None:
    place = at.issue()
    commit(place, {"c.txt": "c\n", ".gitignore": "ignored\n"})
    with at.killer() as kill:
        for number, effect in enumerate(EFFECTS):
            # so that there is a rebase each time
            at.alice.push(REPOSITORY, "main", {f"theirs-{number}.txt": "x\n"})
            assert kill(str(place.key), effect) == -9, effect
    again = at.command(str(place.key))
    assert again.exit_code == 0, again.error_text + again.text
    last = json.loads(again.text.splitlines()[-1])
    [pull] = at.alice.pulls(REPOSITORY)
    assert (last["verdict"], last["number"]) == ("opened", pull["number"])
    assert pull["head"]["sha"] == at.on_forge(place.branch) == place.head()
    assert place.changed_files() == [".gitignore", "c.txt"] and place.is_clean()
    ours = place.control.lines("rev-list", f"{place.base_commit}..{place.head()}")
    assert len(ours) == 1  # nothing was made twice


def test_one_gate_by_itself(at: Desk) -> None:
    place = at.issue()
    passed = at.command("branch", str(place.key))
    assert passed.exit_code == 65
    assert json.loads(passed.text)["verdict"] == "blocked"
    commit(place, {"c.txt": "c\n"})
    found = at.command("branch", str(place.key))
    assert found.exit_code == 0 and json.loads(found.text)["gate"] == "branch"
    assert at.command("no-gate", str(place.key)).exit_code == 64
