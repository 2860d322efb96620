"""All of Fordjent over real HTTP and real git: from a person's issue to a pull request, and what can happen on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scripts import ISSUE_TO_PULL, REVIEW_TO_CHANGE
from tests.support.served import REPOSITORY, Served


@pytest.fixture
def served(place: Path) -> Iterator[Served]:
    with Served(place, [*REVIEW_TO_CHANGE, *ISSUE_TO_PULL]) as there:
        yield there


def test_an_issue_becomes_a_pull_request_and_a_review_changes_it(served: Served) -> None:
    served.start()
    number = served.bob.open_issue(REPOSITORY, "Greet by name", "hello() should say the name.")
    assert served.until_state(f"issues/{number}", "completed")
    (pull,) = served.bob.pulls(REPOSITORY)
    assert pull["head"]["ref"] == "fordjent/issue-1" and pull["base"]["ref"] == "main"
    assert served.bob.labels(REPOSITORY, number) == ["review"]
    assert "hello, {name}" in (served.bob.file(REPOSITORY, "hello.py", "fordjent/issue-1") or "")
