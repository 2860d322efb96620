"""Checks of the repository's own CI, from a person's issue to a pull request that is ready."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scripts import ISSUE_TO_PULL, POLITE, commit, heard, propose, then, write
from tests.support.served import FILES, REPOSITORY, Served, until

LOG = "https://ci.example.org/runs/7"
WITH_CI = {**FILES, ".forgejo/workflows/ci.yml": "on: push\n"}
MENDING = [
    heard(
        r"Checks of the pull request have failed[\s\S]*2 tests failed[\s\S]*" + LOG,
        write(POLITE),
        *commit("Mend the tests"),
    ),
    then(propose("Greet by name", "Closes #1"), anywhere=["2 tests failed"]),
]


@pytest.fixture
def served(place: Path) -> Iterator[Served]:
    with Served(place, [*MENDING, *ISSUE_TO_PULL], files=WITH_CI) as made:
        made.start()
        yield made


def report(served: Served, commit_: str, state: str, **more: str) -> None:
    made = {"context": "ci / test", "state": state, **more}
    served.alice.do("POST", f"/repos/{REPOSITORY}/statuses/{commit_}", made)


def test_failed_checks_are_mended_before_it_is_called_ready(served: Served) -> None:
    number = served.bob.open_issue(REPOSITORY, "Greet by name", "hello() should say the name.")
    served.until_state(f"issues/{number}", "waiting")
    (pull,) = served.bob.pulls(REPOSITORY)
    head = pull["head"]["sha"]
    assert "review" not in served.bob.labels(REPOSITORY, number)
    until(lambda: "waits for its checks" in status_of(served, number), "the comment says what is waited for")

    report(served, head, "failure", description="2 tests failed", target_url=LOG)
    until(lambda: served.bob.pull(REPOSITORY, pull["number"])["head"]["sha"] != head, "it is mended")
    served.until_state(f"issues/{number}", "waiting")
    mended = served.bob.pull(REPOSITORY, pull["number"])["head"]["sha"]
    assert served.bob.file(REPOSITORY, "hello.py", "fordjent/issue-1") == POLITE

    report(served, mended, "success")
    served.until_state(f"issues/{number}", "completed")
    until(lambda: served.bob.labels(REPOSITORY, number) == ["review"], "it is called ready")
    assert "Its checks have passed." in status_of(served, number)
    assert [one["number"] for one in served.bob.pulls(REPOSITORY, "all")] == [pull["number"]]
    assert served.stop() == 0 and served.forge.strange == []


def test_it_goes_on_waiting_after_a_kill(served: Served) -> None:
    number = served.bob.open_issue(REPOSITORY, "Greet by name", "hello() should say the name.")
    served.until_state(f"issues/{number}", "waiting")
    served.kill()
    (pull,) = served.bob.pulls(REPOSITORY)
    report(served, pull["head"]["sha"], "success")
    served.start()
    served.until_state(f"issues/{number}", "completed")


def status_of(served: Served, number: int) -> str:
    (said,) = [one["body"] for one in served.bob.comments(REPOSITORY, number)]
    return str(said)
