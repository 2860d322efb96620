"""Who gets an issue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ent_agent.config import Config
from ent_agent.sample import ALICE, DATA
from ent_agent.selection import people
from ent_agent.selection.people import Assignment
from ent_agent.tracker import writer
from ent_agent.tracker.model import Comment, Issue
from ent_agent.tracker.writer import SetAssignee
from harness.git import Git, Person
from tests.support.sample import WELSH, Sample, configuration

AUTHOR = "Ann Author <ann@example.org>"


@pytest.fixture
def config(place: Path) -> Config:
    return configuration(place, "x")


def issue(**fields: Any) -> Issue:
    return Issue(**{"id": "1" * 32, "description": "Do it", "author": AUTHOR, **fields})


def comment(author: str) -> Comment:
    return Comment(id="c", author=author, creation_time="", description="hm")


def test_the_author_gets_both_when_nobody_else_is_named(config: Config) -> None:
    assert people.reviewer_and_handler(issue(), config) == (AUTHOR, AUTHOR)


@pytest.mark.parametrize(
    "line",
    [
        "Reviewer: bob",
        "reviewer:bob",
        "  - **Reviewer:** bob",
        "Reviewer: @bob",
        "> REVIEWER: `bob` ",
        "Reviewer: bob\r",
    ],
)
def test_a_line_in_the_description_names_the_reviewer(config: Config, line: str) -> None:
    described = issue(description=f"Do it\n\n{line}\n\nmore")
    assert people.reviewer_and_handler(described, config) == ("bob", AUTHOR)


def test_a_handler_has_a_line_of_its_own(config: Config) -> None:
    described = issue(description="Do it\nHandler: carol\nReviewer: bob")
    assert people.reviewer_and_handler(described, config) == ("bob", "carol")


@pytest.mark.parametrize("text", ["The reviewer: of this", "Reviewer:", "Reviewers: bob", "Reviewer bob"])
def test_other_lines_name_nobody(config: Config, text: str) -> None:
    assert people.reviewer_and_handler(issue(description=text), config)[0] == AUTHOR


def test_the_agent_itself_never_gets_it_however_it_is_spelt(config: Config) -> None:
    for name in ("Robo", "robo", "robo@example.org", "Robo <robo@example.org>", "Robo <other@x>"):
        described = issue(description=f"Do it\nReviewer: {name}", author=name)
        assert people.reviewer_and_handler(described, config) == (None, None)


def test_without_an_author_it_is_who_last_assigned_then_who_last_commented_then_config(
    config: Config, place: Path
) -> None:
    nobodys = issue(author="", comments=(comment("Cem <c@x>"), comment("Robo <robo@example.org>")))
    last = [Assignment("2" * 32, "Zed <z@x>", "q"), Assignment("1" * 32, "Dan <d@x>", "Robo")]
    assert people.reviewer_and_handler(nobodys, config, last) == ("Dan <d@x>", "Dan <d@x>")
    assert people.reviewer_and_handler(nobodys, config) == ("Cem <c@x>", "Cem <c@x>")
    configured = configuration(place, "x", reviewer="rita", handler="hal")
    assert people.reviewer_and_handler(issue(author=""), configured) == ("rita", "hal")
    only = configuration(place, "x", reviewer="rita")
    assert people.reviewer_and_handler(issue(author=""), only) == ("rita", "rita")


@pytest.mark.parametrize(
    "spelling", ["ann", "ANN@example.org", "Ann Author", "ann-author", "Ann Author <ann@example.org>"]
)
def test_a_name_is_spelt_as_it_was_last_used_as_an_assignee(config: Config, spelling: str) -> None:
    history = [
        Assignment("2" * 32, "x", "somebody"),
        Assignment("3" * 32, "x", spelling),
        Assignment("4" * 32, "x", "Ann Author <ann@example.org> "),
    ]
    assert people.reviewer_and_handler(issue(), config, history)[0] == spelling


def test_the_agents_own_choice_counts_unless_it_is_itself_or_nobody(config: Config) -> None:
    assert people.chosen("bob", config, []) == "bob"
    assert people.chosen("Robo", config, []) is None
    assert people.chosen("", config, []) is None
    assert people.chosen(None, config, []) is None


def test_control_characters_and_length_of_a_name_are_bounded(config: Config) -> None:
    named = people.reviewer_and_handler(issue(description="x\nReviewer: b\x1b[31mob" + "b" * 500), config)[0]
    assert named and "\x1b" not in named and len(named) <= people.LONGEST_NAME


def test_assignments_are_read_from_the_trackers_history_newest_first(sample: Sample) -> None:
    git = Git(sample.origin, person=ALICE)
    robo = Git(sample.origin, person=Person("Robo", "robo@example.org"))
    tip = git.resolve(f"refs/heads/{DATA}")
    tip = writer.commit(git, tip, [SetAssignee(WELSH, "alice, the first")])
    tip = writer.commit(robo, tip, [SetAssignee(WELSH, None), SetAssignee(WELSH, "bob, carol")])
    assert people.assignments(git, tip)[:3] == [
        Assignment(WELSH, "Robo <robo@example.org>", "bob, carol"),
        Assignment(WELSH, "Robo <robo@example.org>", "None"),
        Assignment(WELSH, str(ALICE), "alice, the first"),
    ]
