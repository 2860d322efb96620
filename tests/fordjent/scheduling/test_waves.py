"""The real server with the scripted model: issues worked in waves, an empty repository begun, a failure tried again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripts import Rule, call, change_of, commit, heard, propose, then, write
from tests.support.served import BOT, REPOSITORY, SECRET, Served, until

Serve = Callable[..., Served]
EMPTY = "acme/empty"


@pytest.fixture
def serve(place: Path) -> Any:
    made: list[Served] = []

    def make(rules: list[Rule], **more: Any) -> Served:
        made.append(Served(place, rules, **more))
        return made[-1]

    yield make
    for served in made:
        served.__exit__(None, None, None)


def said(served: Served, number: int, repository: str = REPOSITORY) -> list[str]:
    return [one["body"] for one in served.bob.comments(repository, number) if one["user"]["login"] == BOT]


def merged(served: Served, issue: int) -> None:
    """Its pull request, as by a person."""
    (pull,) = [one for one in served.bob.pulls(REPOSITORY) if one["head"]["ref"] == f"fordjent/issue-{issue}"]
    served.bob.merge(REPOSITORY, pull["number"])


def runs(served: Served) -> list[str]:
    return [row[0].rpartition("/")[2] for row in served.row("SELECT key FROM runs ORDER BY started_at")]


def test_three_issues_are_worked_in_waves(serve: Serve) -> None:
    served = serve([*change_of(1), *change_of(2), *change_of(3)])
    served.start()
    for number, body in ((1, ""), (2, "Depends on: #1"), (3, "Blocked by:\n- #1\n- #2")):
        assert served.bob.open_issue(REPOSITORY, f"Part {number}", body) == number
    served.until_state("issues/1", "completed")
    until(lambda: served.bob.labels(REPOSITORY, 3) == ["blocked"], "the others are labelled")
    assert served.bob.labels(REPOSITORY, 2) == ["blocked"] and runs(served) == ["1"]
    merged(served, 1)
    served.until_state("issues/2", "completed")
    assert served.bob.labels(REPOSITORY, 2) == ["review"] and runs(served) == ["1", "2"]
    merged(served, 2)
    served.until_state("issues/3", "completed")
    assert runs(served) == ["1", "2", "3"]
    assert [len(said(served, number)) for number in (1, 2, 3)] == [1, 1, 1]
    assert served.stop() == 0 and served.forge.strange == []


def test_killed_at_every_effect_of_the_scheduler_it_begins_each_once(serve: Serve) -> None:
    served = serve([*change_of(1), *change_of(2)])
    served.start("fordjent.label.begun")
    served.bob.open_issue(REPOSITORY, "Part 1")
    served.bob.open_issue(REPOSITORY, "Part 2", "Depends on #1")
    for following in ("fordjent.label", "fordjent.label.noted", ""):
        until(lambda: served.has_ended, f"killed, and then {following}")
        served.start(following)
    served.until_state("issues/1", "completed")
    assert served.bob.labels(REPOSITORY, 2) == ["blocked"]
    served.kill()
    served.start("issue-ready")
    merged(served, 1)
    until(lambda: served.has_ended, "killed with the label set")
    served.start()
    served.until_state("issues/2", "completed")
    assert runs(served) == ["1", "2"] and served.bob.labels(REPOSITORY, 2) == ["review"]


def ground(number: int) -> list[Rule]:
    about = [rf"- Issue: #{number}\n", "Begin the repository"]
    return [
        heard("It was opened", write("# Empty\n", "README.md"), *commit("Begin"), anywhere=about),
        then(propose("Begin"), anywhere=about),
    ]


def empty(served: Served, default_branch: str = "trunk") -> None:
    people = {"bob": "write", BOT: "write"}
    served.forge.repository(EMPTY, empty=True, default_branch=default_branch, collaborators=people)
    served.forge.hook(EMPTY, f"{served.url}/acp/v1/events", SECRET)


def state(served: Served, number: int) -> str:
    if not (served.folder / "state/fordjent.db").exists():
        return ""
    found = served.row("SELECT state FROM sessions WHERE key = ?", f"{EMPTY}/issues/{number}")
    return str(found[0][0]) if found else ""


def test_an_empty_repository_gets_its_ground_from_one_issue_and_the_others_come_after_it(
    serve: Serve,
) -> None:
    served = serve([*ground(3), *change_of(1), *change_of(2)])
    empty(served)
    served.start()
    for number in (1, 2):
        assert served.bob.open_issue(EMPTY, f"Part {number}") == number
    for number in (1, 2, 3):
        until(
            lambda number=number: state(served, number) == "completed",
            f"#{number} is done\n{served.row('SELECT key, state, reason FROM sessions')}",
        )
    bob = served.bob
    assert bob.file(EMPTY, "README.md", "trunk") == "# Empty\n"
    assert [one["title"] for one in bob.do("GET", f"/repos/{EMPTY}/issues?state=closed&type=issues")] == [
        "[scaffold] Begin the repository"
    ]
    pulls = {one["head"]["ref"]: one["base"]["ref"] for one in bob.pulls(EMPTY)}
    assert pulls == {"fordjent/issue-1": "trunk", "fordjent/issue-2": "trunk"}
    branches = {one["name"] for one in bob.do("GET", f"/repos/{EMPTY}/branches")}
    assert branches == {"trunk", *pulls}
    assert any("#3 makes the first one" in text for text in said(served, 1, EMPTY))
    order = [row[0] for row in served.row("SELECT key FROM runs ORDER BY started_at")]
    assert order[0].endswith("/3") and len(order) == 3


@pytest.mark.parametrize(
    "effects",
    [
        ("fordjent.issue.begun", "fordjent.issue", "fordjent.issue.noted"),
        ("first-pushed", "fordjent.push.noted", "gate-first_push", "outcome-written"),
        ("fordjent.push.begun", "fordjent.push"),
    ],
    ids=len,
)
def test_killed_at_every_effect_the_ground_is_laid_once(serve: Serve, effects: tuple[str, ...]) -> None:
    served = serve([*ground(2), *change_of(1)])
    empty(served)
    served.start(effects[0])
    served.bob.open_issue(EMPTY, "Part 1")
    for following in (*effects[1:], ""):
        until(lambda: served.has_ended, f"killed, and then {following}")
        served.start(following)
    for number in (2, 1):
        until(
            lambda number=number: state(served, number) == "completed",
            f"#{number} is done\n{served.row('SELECT key, state, reason FROM sessions')}",
        )
    assert len(served.bob.do("GET", f"/repos/{EMPTY}/issues?state=all&type=issues")) == 2
    commits = served.bob.do("GET", f"/repos/{EMPTY}/commits?sha=trunk")
    assert [one["commit"]["message"].strip() for one in commits] == [
        "[agent-automation] Begin",
        "[agent-automation] Begin the repository",
    ]


def test_who_pushes_a_first_commit_meanwhile_keeps_it_and_the_work_becomes_a_pull_request(
    serve: Serve,
) -> None:
    rules = ground(2)
    served = serve([{**rules[0], "delay": "1500ms"}, {**rules[1], "times": 0}, *change_of(1)])
    empty(served)
    served.start()
    served.bob.open_issue(EMPTY, "Part 1")
    until(lambda: bool(served.row("SELECT 1 FROM model_calls")), "the model is asked")
    served.bob.push(EMPTY, "trunk", {"first.txt": "mine\n"}, "First", start="none")
    until(lambda: state(served, 2) in ("completed", "failed"), "it is done")
    assert state(served, 2) == "completed", served.row("SELECT name, state, result FROM tool_calls")
    assert served.bob.file(EMPTY, "first.txt", "trunk") == "mine\n"
    assert served.bob.file(EMPTY, "README.md", "trunk") is None
    assert "fordjent/issue-2" in {one["head"]["ref"] for one in served.bob.pulls(EMPTY)}


def test_a_scaffold_that_fails_pushes_nothing_to_an_empty_repository(serve: Serve) -> None:
    about = ["Begin the repository"]
    rules = [heard("It was opened", write("# Empty\n", "README.md"), *commit("Begin"), anywhere=about)]
    served = serve(rules, more="[roles.implementer]\nmax_turns = 1\n")
    empty(served)
    served.start()
    served.bob.open_issue(EMPTY, "Part 1")
    until(lambda: state(served, 2) == "failed", "it fails")
    assert served.bob.do("GET", f"/repos/{EMPTY}/branches") is None and state(served, 1) == ""


def test_a_failed_run_is_tried_again_so_many_times_and_a_person_has_it_counted_anew(serve: Serve) -> None:
    rules = [{"last": "", "times": 0, "tool_calls": [call("read_file", path="README.md")]}]
    settings = {"max_retries": 2, "retry_delay": "300ms"}
    served = serve(
        rules,
        sessions=settings,
        more="[roles.implementer]\nmax_turns = 1\n",
    )
    served.start()
    number = served.bob.open_issue(REPOSITORY, "Greet by name")

    def failures() -> list[str]:
        return [text for text in said(served, number) if "I stopped" in text]

    served.until_state(f"issues/{number}", "failed")
    assert runs(served) == ["1", "1", "1"] and len(failures()) == 3
    assert "(1 of 2)" in failures()[0] and "(2 of 2)" in failures()[1]
    assert "tried again" not in failures()[2]
    assert served.bob.labels(REPOSITORY, number) == ["fordjent/failed:max_turns"]
    times = [row[0] for row in served.row("SELECT started_at FROM runs ORDER BY started_at")]
    assert times[2] - times[1] > 0.6 and times[1] - times[0] > 0.3
    served.bob.comment(REPOSITORY, number, "Try again.")
    until(lambda: len(runs(served)) == 6, "it is tried three times more")
    served.until_state(f"issues/{number}", "failed")
    assert len(runs(served)) == 6


def test_a_failure_that_lasts_is_not_tried_again(serve: Serve) -> None:
    served = serve(
        [{"last": "It was opened", "failure": "auth", "text": "the key is wrong"}],
        sessions={"max_retries": 2, "retry_delay": "100ms"},
    )
    served.start()
    served.bob.open_issue(REPOSITORY, "One")
    served.until_state("issues/1", "failed")
    assert runs(served) == ["1"]
    assert any("the key is wrong" in text for text in said(served, 1))


def test_an_issue_that_is_closed_is_not_tried_again(serve: Serve) -> None:
    served = serve(
        [{"last": "", "times": 0, "tool_calls": [call("read_file", path="README.md")]}],
        sessions={"max_retries": 2, "retry_delay": "2s"},
        more="[roles.implementer]\nmax_turns = 1\n",
    )
    served.start()
    served.bob.open_issue(REPOSITORY, "One")
    until(lambda: served.state("issues/1") == "failed", "it fails")
    served.bob.close(REPOSITORY, 1)
    served.until_state("issues/1", "failed")
    assert runs(served) == ["1"]
