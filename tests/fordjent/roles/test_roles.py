"""Who a session is: from tags and labels alone, and what it can then do."""

from __future__ import annotations

from pathlib import Path

import pytest

from fordjent import config as configuration
from fordjent.config import Config, Forgejo, Provider, Webhook
from fordjent.config import Role as Wanted
from fordjent.roles import guidance
from fordjent.roles.roles import ONLY_BY_NAME, ROLES, configured, detect
from fordjent.tools.registry import TOOLS
from harness import shipped

CHANGES_CODE = {"bash", "write_file", "edit_file", "git", "forgejo_create_pr", "forgejo_merge_pr"}


def config(**roles: Wanted) -> Config:
    return Config(
        webhook=Webhook(secret="s3cret"),
        forgejo=Forgejo(url="http://forge.test", token="t"),
        providers={"main": Provider(base_url="http://model.test", model="m")},
        roles=roles,
    )


@pytest.mark.parametrize(
    ("title", "labels", "role"),
    [
        ("[pm] Plan the release", (), "pm"),
        ("Plan the release [Decompose]", (), "pm"),
        ("[Project Manager] x", (), "pm"),
        ("[code review] x", (), "reviewer"),
        ("[CI/CD] x", (), "devops"),
        ("[QA] x", (), "tester"),
        ("[scaffold] x", (), "implementer"),
        ("Plan", ("role:project-manager",), "pm"),
        ("Plan", ("bug", "ROLE:Infra"), "devops"),
        ("Plan", ("role:test-engineer",), "tester"),
        ("Plan", ("role:code-reviewer",), "reviewer"),
        ("Plan", ("role:developer",), "implementer"),
        ("[pm] Plan", ("role:tester",), "pm"),  # the title goes first
        ("Plan", (), None),
        ("Decompose this as pm, we had an integration test failing", (), None),
        ("the pm has qa write code in a ci/cd pipeline, as reviewer", ("pm", "reviewer"), None),
        ("[unknown] x", ("role:boss",), None),
        ("pm] [ pm", (), None),
    ],
)
def test_a_role_is_named_by_a_tag_or_a_label_and_never_guessed(
    title: str, labels: tuple[str, ...], role: str | None
) -> None:
    found = detect(title, labels)
    assert (found.name if found else None) == role


def test_the_roles_are_those_of_the_configuration() -> None:
    assert set(ROLES) == set(configuration.ROLES)
    assert {role.name: role.max_turns for role in ROLES.values()} == {
        "pm": 15,
        "implementer": 50,
        "reviewer": 20,
        "tester": 25,
        "devops": 25,
    }


def test_no_tag_and_no_label_names_two_roles() -> None:
    for names in (
        [tag for role in ROLES.values() for tag in role.title_tags],
        [label for role in ROLES.values() for label in role.labels],
    ):
        assert len(names) == len(set(names))
        assert all(name == name.casefold() for name in names)


def test_every_tool_of_a_role_is_one_that_there_is_and_every_one_has_a_role() -> None:
    given = {name for role in ROLES.values() for name in role.tools}
    assert given | set(ONLY_BY_NAME) == set(TOOLS)
    assert given.isdisjoint(ONLY_BY_NAME)


@pytest.mark.parametrize("name", ["pm", "reviewer"])
def test_who_writes_no_code_has_no_tool_for_it(name: str) -> None:
    assert CHANGES_CODE.isdisjoint(ROLES[name].tools)
    assert not ROLES[name].writes_code


def test_only_the_others_make_pull_requests() -> None:
    assert {role.name for role in ROLES.values() if role.makes_pull} == {"implementer", "tester", "devops"}
    assert all(set(role.tools) >= CHANGES_CODE for role in ROLES.values() if role.makes_pull)


def test_a_pm_can_make_sub_issues() -> None:
    assert "forgejo_create_issue" in ROLES["pm"].tools
    assert "forgejo_create_issue" not in ROLES["reviewer"].tools


def test_every_prompt_is_there() -> None:
    folder = Path(shipped.folder("prompts"))
    assert all((folder / role.prompt).is_file() for role in ROLES.values())


def test_the_configuration_changes_what_it_names_and_nothing_else() -> None:
    plain = config()
    assert configured(plain, "pm") is ROLES["pm"]
    changed = configured(config(pm=Wanted(max_turns=3, tools=["bash", "forgejo_create_hook"])), "pm")
    assert (changed.max_turns, changed.tools) == (3, ("bash", "forgejo_create_hook"))
    assert changed.prompt == ROLES["pm"].prompt
    assert configured(config(pm=Wanted(prompt="mine.md.j2")), "pm").tools == ROLES["pm"].tools


def test_the_guidance_names_every_role_with_its_label_and_tags() -> None:
    text = guidance.text()
    for role in ROLES.values():
        assert f"`{role.label}`" in text
        assert all(f"`{tag}`" in text for tag in role.title_tags)
        assert role.guidance in text
