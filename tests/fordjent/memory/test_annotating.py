"""Notes on the agent's commits: there, on the forge, beside those of others, and on nobody else's commits."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from sqlalchemy import insert

from fordjent.gates import push
from fordjent.gates.gate import Opened
from fordjent.gates.pull_requests import propose
from fordjent.memory import annotating
from fordjent.memory.annotating import REF
from fordjent.session_key import SessionKey
from fordjent.store.schema import model_calls
from fordjent.workspaces.place import Place
from harness import process
from harness.git import Git
from tests.support import remembered
from tests.support.proposals import REPOSITORY, Desk
from tests.support.workshop import BOT, PERSON, agent, commit


def bare(at: Desk) -> Git:
    return Git(at.forge.world.repositories[REPOSITORY].bare.path)


def note(at: Desk, commit: str) -> list[dict[str, Any]]:
    """What a person sees of a commit's note on the forge."""
    shown = bare(at).run("notes", "--ref", REF, "show", commit, check=False)
    return [json.loads(line) for line in shown.text.splitlines() if line] if shown.ok else []


def worked(at: Desk, place: Place, **more: Any) -> str:
    """A run of the session's that asked a model; its id."""
    run = remembered.ran(at.context.database, str(place.key), outcome="", **more)
    row = {"run": run, "repository": REPOSITORY, "role": "implementer", "turn": 1, "at": time.time()}
    row |= {"key": str(place.key), "provider": "main", "model": "gpt-x", "state": "answered"}
    at.context.database.submit(
        lambda connection: connection.execute(insert(model_calls).values(**row, cost_microdollars=1500))
    ).result()
    return run


def theirs(at: Desk, commit: str, text: str) -> None:
    """A person's note, pushed to the forge."""
    git = Git(bare(at).git_dir)
    git.run("notes", "--ref", REF, "append", "--file=-", commit, stdin=text.encode(), env=PERSON)


def pushed(at: Desk, place: Place) -> int:
    push.push(place, [])
    return at.run(annotating.annotate(at.context, place))


def test_each_commit_of_a_pull_request_says_who_made_it_and_what_that_cost(at: Desk) -> None:
    place = at.issue()
    run = worked(at, place)
    commits = [commit(place, {"c.txt": "c\n"}), commit(place, {"d.txt": "d\n"})]
    assert isinstance(at.run(propose(at.proposal(place))), Opened)
    for one in commits:
        [told] = note(at, one)
        assert told == {
            "session": str(place.key),
            "run": run,
            "role": "implementer",
            "model": "gpt-x",
            "cost_usd": 0.0015,
        }
    assert pushed(at, place) == 0


def test_commits_of_people_are_never_noted(at: Desk) -> None:
    place = at.issue()
    worked(at, place)
    mine = commit(place, {"c.txt": "c\n"})
    finished = process.run(
        ["git", "commit", "--allow-empty", "-qm", "By hand"],
        cwd=place.path,
        env={**os.environ, **PERSON},
    )
    assert finished.ok
    unmarked = {**os.environ, **BOT}
    process.run(["git", "commit", "--allow-empty", "-qm", "No prefix"], cwd=place.path, env=unmarked)
    assert pushed(at, place) == 2
    by_person = agent(place, "rev-parse", "HEAD~1")
    assert note(at, mine) and not note(at, by_person) and note(at, agent(place, "rev-parse", "HEAD"))
    assert not note(at, place.base_commit)


def test_notes_that_others_pushed_are_taken_in_by_union(at: Desk) -> None:
    place = at.issue()
    worked(at, place)
    first = commit(place, {"c.txt": "c\n"})
    pushed(at, place)
    theirs(at, first, '{"by": "alice"}')
    theirs(at, place.base_commit, "On the base.")
    second = commit(place, {"d.txt": "d\n"})
    assert pushed(at, place) == 1
    assert {tuple(one) for one in note(at, first)} == {
        ("session", "run", "role", "model", "cost_usd"),
        ("by",),
    }
    assert note(at, second)
    assert bare(at).text("notes", "--ref", REF, "show", place.base_commit) == "On the base."


def test_both_sides_noted_the_same_commit_apart(at: Desk) -> None:
    """Ours could not be pushed; meanwhile others began notes of their own, with no common beginning."""
    place = at.issue()
    worked(at, place)
    mine = commit(place, {"c.txt": "c\n"})
    push.push(place, [])
    at.forge.fail_next("POST", "git-receive-pack", 500)
    assert at.run(annotating.annotate(at.context, place)) == 0 and not note(at, mine)
    theirs(at, mine, '{"by": "alice"}')
    pushed(at, place)
    assert len(note(at, mine)) == 2


def test_a_push_that_another_one_overtook_is_made_again(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    place = at.issue()
    worked(at, place)
    mine = commit(place, {"c.txt": "c\n"})
    overtaken = []

    def overtake(name: str) -> None:
        if name == "notes-added" and not overtaken:
            overtaken.append(name)
            theirs(at, place.base_commit, "Quicker.")

    monkeypatch.setattr(annotating, "reached", overtake)
    assert pushed(at, place) == 1 and overtaken
    assert note(at, mine)
    assert bare(at).text("notes", "--ref", REF, "show", place.base_commit) == "Quicker."


def test_a_forge_that_takes_no_notes_gets_its_pull_request_all_the_same(at: Desk) -> None:
    place = at.issue()
    worked(at, place)
    mine = commit(place, {"c.txt": "c\n"})
    hook = bare(at).git_dir / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    old = hook.read_text() if hook.exists() else "#!/bin/sh\n"
    hook.write_text(old.replace("#!/bin/sh\n", "#!/bin/sh\ncase $1 in refs/notes/*) exit 1;; esac\n", 1))
    hook.chmod(0o755)
    assert isinstance(at.run(propose(at.proposal(place))), Opened)
    assert at.on_forge(place.branch) == mine and not note(at, mine)
    hook.unlink()
    assert pushed(at, place) == 0 and note(at, mine)  # it was made then, and is pushed now


def test_notes_of_the_forge_that_are_none_harm_nothing(at: Desk) -> None:
    place = at.issue()
    worked(at, place)
    commit(place, {"c.txt": "c\n"})
    blob = bare(at).text("hash-object", "-w", "--stdin", stdin=b"no commit")
    bare(at).run("update-ref", REF, blob)
    assert isinstance(at.run(propose(at.proposal(place))), Opened)


def test_a_lost_answer_is_asked_for(at: Desk) -> None:
    place = at.issue()
    worked(at, place)
    mine = commit(place, {"c.txt": "c\n"})
    push.push(place, [])
    at.forge.fail_next("POST", "git-receive-pack", "lost")
    assert at.run(annotating.annotate(at.context, place)) == 1 and note(at, mine)


def test_a_later_run_notes_its_own_commits_and_leaves_the_earlier_ones(at: Desk) -> None:
    place = at.issue()
    first_run = worked(at, place)
    first = commit(place, {"c.txt": "c\n"})
    pushed(at, place)
    at.context.database.submit(
        lambda connection: connection.exec_driver_sql(
            "UPDATE runs SET outcome = 'completed', started_at = 1.0"
        )
    ).result()
    second_run = worked(at, place)
    second = commit(place, {"d.txt": "d\n"})
    pushed(at, place)
    assert [one["run"] for one in note(at, first)] == [first_run]
    assert [one["run"] for one in note(at, second)] == [second_run]


def test_a_session_without_a_run_notes_nothing(at: Desk) -> None:
    place = at.workspaces.prepare(SessionKey(REPOSITORY, "issues", 9))
    commit(place, {"c.txt": "c\n"})
    assert pushed(at, place) == 0 and bare(at).resolve(REF) is None
